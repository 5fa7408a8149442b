"""The page that shows all studies, and the explorer of a trained network."""
