"""In what processes run, and what it is called: control groups, containers, pods, systemd units, labels.

`placement` reads a control group's path and knows no names; `labels_file`, `kubelet` and `runtime_state` know names
and no processes; `environment` reads what a process was given; `naming` puts them together, late: at the end of a
capture, so that nothing waits for a kubelet while rings fill.
"""
