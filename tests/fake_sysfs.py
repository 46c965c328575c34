"""Trees that look like /proc and /sys of other machines."""

from pathlib import Path


def write(root: Path, path: str, value: object) -> None:
    """A file below the root, with a newline at its end as the kernel writes it."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{value}\n")


def cpufreq(sys: Path, policy: int, cpus: str, **files: object) -> None:
    """A policy of cpufreq with these files."""
    folder = f"devices/system/cpu/cpufreq/policy{policy}"
    write(sys, f"{folder}/affected_cpus", cpus)
    for name, value in files.items():
        write(sys, f"{folder}/{name}", value)


def cpuidle(sys: Path, cpu: int, **times: int) -> None:
    """The idle states of a CPU: µs in each by its name."""
    for number, (name, time) in enumerate(times.items()):
        folder = f"devices/system/cpu/cpu{cpu}/cpuidle/state{number}"
        write(sys, f"{folder}/name", name)
        write(sys, f"{folder}/latency", number * 10)
        write(sys, f"{folder}/time", time)
