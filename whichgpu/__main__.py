"""``python -m whichgpu``: the command."""

from __future__ import annotations

from whichgpu.cli.main import main


if __name__ == "__main__":
    main()
