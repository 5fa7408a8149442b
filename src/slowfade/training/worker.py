"""One run of a sweep, in a process of its own.

``python -m slowfade.training.worker FOLDER`` reads the configuration from its standard input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from slowfade.errors import UserError
from slowfade.training.config import Config
from slowfade.training.run import train


def main(path: str) -> int:
    config = Config.from_json(json.loads(sys.stdin.readline()))
    threading.Thread(target=stop_with_parent, daemon=True).start()
    try:
        train(config, path, quiet=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def stop_with_parent() -> None:
    """However the parent ends, its end of the pipe is closed then; stop as politely as on Ctrl-C."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
