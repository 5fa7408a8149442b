"""What trained networks do: functions of runs, traces and metrics, for studies and notebooks alike."""

from slowfade.analysis.ablation import Ablation, ablation_curve, marked_first, random_order, silenced
from slowfade.analysis.curves import Curve, common_end, curve, mean_curve, mean_height, steps_to
from slowfade.analysis.decay import (
    exponential_decay,
    exponential_half_life,
    measured_decay,
    power_law_decay,
    power_law_half_life,
    retained,
)
from slowfade.analysis.evaluation import batches, correct, measure
from slowfade.analysis.generalisation import accuracy_at_delay
from slowfade.analysis.gradient import forget_by_reference_time, forget_by_reset, largest_by_reset
from slowfade.analysis.lengths import Bin, accuracy_by_length
from slowfade.analysis.power import initial_power, trained_power
from slowfade.analysis.resets import later_reset_units, reference_times, reset_order
from slowfade.analysis.statistics import (
    Summary,
    TTest,
    cohens_d,
    one_sample_t_test,
    paired_t_test,
    summary,
    t_test,
)

__all__ = [
    "Ablation",
    "Bin",
    "Curve",
    "Summary",
    "TTest",
    "ablation_curve",
    "accuracy_at_delay",
    "accuracy_by_length",
    "batches",
    "cohens_d",
    "common_end",
    "correct",
    "curve",
    "exponential_decay",
    "exponential_half_life",
    "forget_by_reference_time",
    "forget_by_reset",
    "initial_power",
    "largest_by_reset",
    "later_reset_units",
    "marked_first",
    "mean_curve",
    "mean_height",
    "measure",
    "measured_decay",
    "one_sample_t_test",
    "paired_t_test",
    "power_law_decay",
    "power_law_half_life",
    "random_order",
    "reference_times",
    "reset_order",
    "retained",
    "silenced",
    "steps_to",
    "summary",
    "t_test",
    "trained_power",
]
