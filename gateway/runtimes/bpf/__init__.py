"""BPF programs without libbpf: object files, the bpf(2) system call, and the kernel's own type information."""
