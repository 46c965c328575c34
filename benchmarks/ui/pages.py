"""Builds the pages of the benchmark from the web UI's sources, installs the peers, and measures the web UI's bundle."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import ModuleType

_ROOT: Final = Path(__file__).parents[2]
_PAGE: Final = Path(__file__).with_name("page")
_MODULES: Final = _ROOT / "webui" / "node_modules"
_STATIC: Final = _ROOT / "services" / "api" / "static"
PEERS: Final = {"d3-flame-graph": "5.0.0", "d3-selection": "3.0.0", "speedscope": "1.25.0"}


class CannotBuildError(Exception):
    """A tool is missing or failed; the message is the reason."""


class Builder:
    """Node.js with what the web UI is built with."""

    def __init__(self) -> None:
        """Build the web UI if it is not current. Raises `CannotBuildError`."""
        self._script = _build_web()
        try:
            self._node: Any = self._script.find_node()
        except self._script.NoNode as error:
            raise CannotBuildError(str(error)) from error
        self._run([sys.executable, str(_ROOT / "infra" / "build-web.py")], _ROOT)

    def install_peers(self) -> Path:
        """The `node_modules` with the peers, in the user's cache folder. Raises `CannotBuildError`."""
        folder = _cache() / "-".join(PEERS.values())
        modules = folder / "node_modules"
        if all((modules / name / "package.json").is_file() for name in PEERS):
            return modules
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        wanted = [f"{name}@{version}" for name, version in PEERS.items()]
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        self._run([*self._node.npm, "install", *options, *wanted], folder)
        return modules

    def build(self, target: Path, peers: Path | None) -> None:
        """Write `ours.html`, and with peers `d3.html` and the folder `speedscope`. Raises `CannotBuildError`."""
        environment = {"MODULES": str(_MODULES), "D3": str(peers or "")}
        vite = [str(self._node.binary), str(_MODULES / "vite" / "bin" / "vite.js"), "build"]
        config = ["--config", str(_PAGE / "vite.config.mjs"), "--outDir", str(target / "pages")]
        self._run([*vite, *config], _ROOT / "webui", environment)
        if peers is not None:
            shutil.copytree(peers / "speedscope" / "dist" / "release", target / "speedscope")

    def _run(self, command: list[str], cwd: Path, more: dict[str, str] | None = None) -> None:
        environment = self._node.environment() | (more or {})
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            tail = (done.stderr or done.stdout).strip()[-500:]
            raise CannotBuildError(f"{Path(command[0]).name} failed: {tail}")


def bundle_kib_gz() -> float:
    """Size of the scripts and styles that the web UI's first page loads, each packed by gzip."""
    index = (_STATIC / "index.html").read_text()
    files = set(re.findall(r'(?:src|href)="/?(assets/[^"]+\.(?:js|css))"', index))
    return sum(len(gzip.compress((_STATIC / name).read_bytes(), 9)) for name in files) / 1024


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fleetprof-bench" / "ui"


def _build_web() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_web", _ROOT / "infra" / "build-web.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
