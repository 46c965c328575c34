"""Containers of processes and their labels: control groups, containers, pods, systemd units.

- `placement` reads a control group's path and knows no labels.
- `labels_file`, `kubelet` and `runtime_state` know labels and no processes; `process_environment` reads a process's
  own.
- `label_sources` combines them at the end of a capture, so that nothing waits for a kubelet while rings fill.
"""
