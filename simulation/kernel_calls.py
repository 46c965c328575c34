"""The kernel's part of the call graphs: system calls, faults, interrupts, kernel threads (Linux 6 names)."""

from typing import Final

from simulation.calls import CallGraph

_TAILS: Final = """
kernel:__x64_sys_read ; 1 ; kernel:ksys_read~9
kernel:ksys_read ; 1 ; kernel:vfs_read~9 ; kernel:__fdget_pos~1
kernel:vfs_read ; 2 ; kernel:ext4_file_read_iter~3 ; kernel:sock_read_iter~5 ; kernel:security_file_permission~1
kernel:ext4_file_read_iter ; 1 ; kernel:generic_file_read_iter~6
kernel:generic_file_read_iter ; 1 ; kernel:filemap_read~8
kernel:filemap_read ; 3 ; kernel:copy_page_to_iter~5 ; kernel:filemap_get_pages~3
kernel:copy_page_to_iter ; 1 ; kernel:rep_movs_alternative~4
kernel:sock_read_iter ; 1 ; kernel:sock_recvmsg~8
kernel:sock_recvmsg ; 1 ; kernel:inet_recvmsg~8 ; kernel:security_socket_recvmsg~1
kernel:inet_recvmsg ; 1 ; kernel:tcp_recvmsg~9
kernel:tcp_recvmsg ; 1 ; kernel:tcp_recvmsg_locked~6 ; kernel:lock_sock_nested~2 ; kernel:release_sock~2
kernel:tcp_recvmsg_locked ; 3 ; kernel:skb_copy_datagram_iter~5 ; kernel:tcp_cleanup_rbuf~2
kernel:skb_copy_datagram_iter ; 1 ; kernel:rep_movs_alternative#skb~4
kernel:lock_sock_nested ; 1 ; kernel:native_queued_spin_lock_slowpath#sock~2
kernel:__x64_sys_write ; 1 ; kernel:ksys_write~9
kernel:ksys_write ; 1 ; kernel:vfs_write~9
kernel:vfs_write ; 2 ; kernel:ext4_buffered_write_iter~4 ; kernel:sock_write_iter~4
kernel:ext4_buffered_write_iter ; 1 ; kernel:generic_perform_write~6
kernel:generic_perform_write ; 2 ; kernel:ext4_da_write_begin~3 ; kernel:rep_movs_alternative#write~3 ; kernel:ext4_da_write_end~2
kernel:ext4_da_write_begin ; 2 ; kernel:__filemap_get_folio~4
kernel:sock_write_iter ; 1 ; kernel:sock_sendmsg~6
kernel:__x64_sys_sendto ; 1 ; kernel:__sys_sendto~6
kernel:__sys_sendto ; 1 ; kernel:sock_sendmsg~8
kernel:sock_sendmsg ; 1 ; kernel:tcp_sendmsg~9 ; kernel:security_socket_sendmsg~1
kernel:tcp_sendmsg ; 1 ; kernel:tcp_sendmsg_locked~9
kernel:tcp_sendmsg_locked ; 3 ; kernel:__tcp_push_pending_frames~6 ; kernel:skb_copy_to_page_nocache~2 ; kernel:__alloc_skb~2
kernel:__alloc_skb ; 2 ; kernel:kmem_cache_alloc_node~3
kernel:__tcp_push_pending_frames ; 1 ; kernel:tcp_write_xmit~9
kernel:tcp_write_xmit ; 2 ; kernel:__tcp_transmit_skb~8
kernel:__tcp_transmit_skb ; 2 ; kernel:__ip_queue_xmit~8
kernel:__ip_queue_xmit ; 1 ; kernel:ip_finish_output2~8
kernel:ip_finish_output2 ; 1 ; kernel:__dev_queue_xmit~8
kernel:__dev_queue_xmit ; 2 ; kernel:dev_hard_start_xmit~5 ; kernel:fq_codel_enqueue~2 ; kernel:native_queued_spin_lock_slowpath#qdisc~1
kernel:dev_hard_start_xmit ; 1 ; kernel:mlx5e_xmit~4
kernel:__x64_sys_recvfrom ; 1 ; kernel:__sys_recvfrom~6
kernel:__sys_recvfrom ; 1 ; kernel:sock_recvmsg~8
kernel:__x64_sys_epoll_wait ; 1 ; kernel:do_epoll_wait~8
kernel:do_epoll_wait ; 4 ; kernel:schedule_hrtimeout_range_clock~4 ; kernel:ep_send_events~2
kernel:ep_send_events ; 2 ; kernel:sock_poll~3
kernel:schedule_hrtimeout_range_clock ; 1 ; kernel:schedule~5
kernel:schedule ; 1 ; kernel:__schedule~8
kernel:__schedule ; 4 ; kernel:finish_task_switch.isra.0~3 ; kernel:pick_next_task_fair~3 ; kernel:dequeue_task_fair~2
kernel:pick_next_task_fair ; 2 ; kernel:update_curr~1 ; kernel:newidle_balance~2
kernel:newidle_balance ; 1 ; kernel:load_balance~2
kernel:dequeue_task_fair ; 1 ; kernel:dequeue_entity~2
kernel:__x64_sys_futex ; 1 ; kernel:do_futex~8
kernel:do_futex ; 1 ; kernel:futex_wait~4 ; kernel:futex_wake~4
kernel:futex_wait ; 1 ; kernel:futex_wait_queue~3 ; kernel:futex_wait_setup~2
kernel:futex_wait_setup ; 1 ; kernel:native_queued_spin_lock_slowpath#futex~2
kernel:futex_wait_queue ; 1 ; kernel:schedule#futex~4
kernel:schedule#futex ; 1 ; kernel:__schedule~4
kernel:futex_wake ; 2 ; kernel:wake_up_q~4
kernel:wake_up_q ; 1 ; kernel:try_to_wake_up~5
kernel:try_to_wake_up ; 3 ; kernel:ttwu_queue_wakelist~1 ; kernel:select_task_rq_fair~3
kernel:__x64_sys_mmap ; 1 ; kernel:vm_mmap_pgoff~4
kernel:vm_mmap_pgoff ; 1 ; kernel:do_mmap~4
kernel:do_mmap ; 2 ; kernel:mmap_region~3
kernel:__x64_sys_madvise ; 1 ; kernel:do_madvise~4
kernel:do_madvise ; 1 ; kernel:zap_page_range_single~4
kernel:zap_page_range_single ; 1 ; kernel:unmap_page_range~3 ; kernel:tlb_finish_mmu~2
kernel:__x64_sys_openat ; 1 ; kernel:do_sys_openat2~4
kernel:do_sys_openat2 ; 1 ; kernel:do_filp_open~4
kernel:do_filp_open ; 1 ; kernel:path_openat~4
kernel:path_openat ; 2 ; kernel:link_path_walk~4 ; kernel:do_open~2
kernel:link_path_walk ; 2 ; kernel:walk_component~3
kernel:walk_component ; 1 ; kernel:lookup_fast~3
kernel:lookup_fast ; 1 ; kernel:__d_lookup_rcu~3
kernel:__x64_sys_fsync ; 1 ; kernel:ext4_sync_file~4
kernel:ext4_sync_file ; 1 ; kernel:jbd2_log_wait_commit~2
kernel:asm_exc_page_fault ; 1 ; kernel:exc_page_fault~8
kernel:exc_page_fault ; 1 ; kernel:do_user_addr_fault~8
kernel:do_user_addr_fault ; 1 ; kernel:handle_mm_fault~8 ; kernel:down_read_trylock~1
kernel:handle_mm_fault ; 1 ; kernel:__handle_mm_fault~8
kernel:__handle_mm_fault ; 2 ; kernel:do_anonymous_page~4 ; kernel:do_fault~2
kernel:do_anonymous_page ; 1 ; kernel:vma_alloc_folio~5
kernel:vma_alloc_folio ; 1 ; kernel:clear_page_erms~8 ; kernel:get_page_from_freelist~2
kernel:do_fault ; 1 ; kernel:filemap_map_pages~3
kernel:asm_sysvec_apic_timer_interrupt ; 1 ; kernel:sysvec_apic_timer_interrupt~4
kernel:sysvec_apic_timer_interrupt ; 1 ; kernel:__irq_exit_rcu~3 ; kernel:hrtimer_interrupt~3
kernel:hrtimer_interrupt ; 1 ; kernel:tick_sched_timer~3
kernel:__irq_exit_rcu ; 1 ; kernel:handle_softirqs~4
kernel:handle_softirqs ; 2 ; kernel:net_rx_action~4 ; kernel:rcu_core~2 ; kernel:run_rebalance_domains~2
kernel:net_rx_action ; 1 ; kernel:mlx5e_napi_poll~5
kernel:mlx5e_napi_poll ; 3 ; kernel:napi_gro_receive~4 ; kernel:mlx5e_poll_tx_cq~2
kernel:napi_gro_receive ; 2 ; kernel:netif_receive_skb_list_internal~4
kernel:netif_receive_skb_list_internal ; 1 ; kernel:ip_list_rcv~4
kernel:ip_list_rcv ; 1 ; kernel:tcp_v4_rcv~5
kernel:tcp_v4_rcv ; 3 ; kernel:tcp_rcv_established~4
kernel:tcp_rcv_established ; 3 ; kernel:tcp_ack~3 ; kernel:sock_def_readable~2
kernel:sock_def_readable ; 1 ; kernel:ep_poll_callback~3
"""

SYSCALLS: Final = {
    "read": "read", "write": "write", "send": "sendto", "recv": "recvfrom", "epoll_wait": "epoll_wait",
    "__lll_lock_wait": "futex", "pthread_cond_signal": "futex", "mmap": "mmap", "madvise": "madvise",
    "open64": "openat", "fsync": "fsync",
}  # fmt: skip
"""Functions of the C library, and the system call of each."""

_THREADS: Final = {
    "kworker": """
kernel:ret_from_fork_asm ; 0 ; kernel:ret_from_fork
kernel:ret_from_fork ; 0 ; kernel:kthread
kernel:kthread ; 0 ; kernel:worker_thread
kernel:worker_thread ; 1 ; kernel:process_one_work~9 ; kernel:schedule~1
kernel:process_one_work ; 1 ; kernel:wb_workfn~3 ; kernel:vmstat_update~2 ; kernel:drm_fb_helper_damage_work~1 ; kernel:mlx5e_rx_dim_work~1
kernel:wb_workfn ; 1 ; kernel:wb_writeback~4
kernel:wb_writeback ; 1 ; kernel:writeback_sb_inodes~4
kernel:writeback_sb_inodes ; 2 ; kernel:ext4_do_writepages~4
""",
    "ksoftirqd": """
kernel:ret_from_fork_asm ; 0 ; kernel:ret_from_fork
kernel:ret_from_fork ; 0 ; kernel:kthread
kernel:kthread ; 0 ; kernel:smpboot_thread_fn
kernel:smpboot_thread_fn ; 1 ; kernel:run_ksoftirqd~9
kernel:run_ksoftirqd ; 0 ; kernel:handle_softirqs
""",
    "rcu_preempt": """
kernel:ret_from_fork_asm ; 0 ; kernel:ret_from_fork
kernel:ret_from_fork ; 0 ; kernel:kthread
kernel:kthread ; 0 ; kernel:rcu_gp_kthread
kernel:rcu_gp_kthread ; 1 ; kernel:rcu_gp_fqs_loop~5 ; kernel:rcu_gp_cleanup~2
kernel:rcu_gp_fqs_loop ; 2 ; kernel:force_qs_rnp~4 ; kernel:schedule~2
""",
    "kswapd": """
kernel:ret_from_fork_asm ; 0 ; kernel:ret_from_fork
kernel:ret_from_fork ; 0 ; kernel:kthread
kernel:kthread ; 0 ; kernel:kswapd
kernel:kswapd ; 1 ; kernel:balance_pgdat~9
kernel:balance_pgdat ; 1 ; kernel:shrink_node~8
kernel:shrink_node ; 2 ; kernel:shrink_lruvec~6 ; kernel:shrink_slab~3
kernel:shrink_lruvec ; 2 ; kernel:shrink_folio_list~6
kernel:shrink_folio_list ; 4 ; kernel:folio_referenced~3 ; kernel:try_to_unmap~2
""",
    "migration": """
kernel:ret_from_fork_asm ; 0 ; kernel:ret_from_fork
kernel:ret_from_fork ; 0 ; kernel:kthread
kernel:kthread ; 0 ; kernel:smpboot_thread_fn
kernel:smpboot_thread_fn ; 1 ; kernel:cpu_stopper_thread~5
kernel:cpu_stopper_thread ; 1 ; kernel:migration_cpu_stop~3
""",
    "jbd2": """
kernel:ret_from_fork_asm ; 0 ; kernel:ret_from_fork
kernel:ret_from_fork ; 0 ; kernel:kthread
kernel:kthread ; 0 ; kernel:kjournald2
kernel:kjournald2 ; 1 ; kernel:jbd2_journal_commit_transaction~9
kernel:jbd2_journal_commit_transaction ; 4 ; kernel:jbd2_journal_write_metadata_buffer~4
""",
}

THREADS: Final = tuple(_THREADS)
"""Families of kernel threads."""


def add_kernel(graph: CallGraph) -> None:
    """Add the code below the C library and below interrupts."""
    graph.read(_TAILS)
    for caller, call in SYSCALLS.items():
        graph.add(f"libc:{caller}", 1.0, [(f"kernel:entry_SYSCALL_64_after_hwframe#{call}", 12.0)])
        add_entry(graph, call)


def add_entry(graph: CallGraph, call: str) -> None:
    """Add the entry into one system call."""
    if f"kernel:entry_SYSCALL_64_after_hwframe#{call}" in graph.places:
        return
    graph.add(f"kernel:entry_SYSCALL_64_after_hwframe#{call}", 1.0, [(f"kernel:do_syscall_64#{call}", 12.0)])
    graph.add(f"kernel:do_syscall_64#{call}", 1.0, [(f"kernel:__x64_sys_{call}", 16.0)])


def thread_graph(family: str) -> CallGraph:
    """Call graph of a family of kernel threads; their stacks begin at `ret_from_fork_asm`."""
    graph = CallGraph()
    add_kernel(graph)
    return graph.read(_THREADS[family])
