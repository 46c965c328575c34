"""Programs everybody knows, with the functions their profiles really show: nginx, PostgreSQL, Redis, memcached."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_START: Final = """
_start ; 0 ; libc:__libc_start_main@@GLIBC_2.34~9
libc:__libc_start_main@@GLIBC_2.34 ; 0 ; main~9
libc:malloc ; 4 ; libc:_int_malloc~4
"""

_NGINX: Final = """
main ; 0 ; ngx_master_process_cycle~9
ngx_master_process_cycle ; 0 ; ngx_spawn_process~9
ngx_spawn_process ; 0 ; ngx_worker_process_cycle~9
ngx_worker_process_cycle ; 0 ; ngx_process_events_and_timers~9
ngx_process_events_and_timers ; 1 ; ngx_epoll_process_events~9 ; ngx_event_expire_timers~1
ngx_epoll_process_events ; 2 ; libc:epoll_wait~3 ; ngx_http_wait_request_handler~4 ; ngx_http_upstream_handler~5 ; ngx_ssl_handshake_handler~2
ngx_ssl_handshake_handler ; 0 ; libssl:SSL_do_handshake~9
libssl:SSL_do_handshake ; 1 ; libcrypto:ecp_nistz256_point_mul~4 ; libcrypto:bn_mul_mont~4 ; libcrypto:RSA_sign~2
libcrypto:RSA_sign ; 0 ; libcrypto:rsaz_1024_mul_avx2~5
ngx_http_wait_request_handler ; 1 ; ngx_http_process_request_line~6 ; libc:recv~3
ngx_http_process_request_line ; 2 ; ngx_http_parse_request_line~3 ; ngx_http_process_request_headers~5
ngx_http_process_request_headers ; 1 ; ngx_http_parse_header_line~4 ; ngx_http_process_request~6
ngx_http_process_request ; 1 ; ngx_http_core_run_phases~9
ngx_http_core_run_phases ; 1 ; ngx_http_proxy_handler~4 ; ngx_http_static_handler~2 ; ngx_http_rewrite_handler~2
ngx_http_rewrite_handler ; 1 ; ngx_http_regex_exec~3
ngx_http_proxy_handler ; 1 ; ngx_http_upstream_init_request~6
ngx_http_upstream_init_request ; 1 ; libc:malloc~2 ; libc:send~3
ngx_http_upstream_handler ; 1 ; ngx_http_upstream_process_upstream~6 ; ngx_http_upstream_process_header~3
ngx_http_upstream_process_upstream ; 1 ; ngx_event_pipe~9
ngx_event_pipe ; 1 ; libc:recv~3 ; ngx_http_output_filter~6
ngx_http_output_filter ; 1 ; ngx_http_gzip_body_filter~4 ; ngx_http_write_filter~5
ngx_http_gzip_body_filter ; 1 ; libz:deflate~8
libz:deflate ; 2 ; libz:deflate_fast~6 ; libz:crc32_z~2
ngx_http_write_filter ; 1 ; ngx_ssl_send_chain~6
ngx_ssl_send_chain ; 1 ; libssl:SSL_write~9
libssl:SSL_write ; 1 ; libcrypto:aes_gcm_enc_update_vaes_avx512~6 ; libc:write~5
ngx_http_static_handler ; 1 ; libc:open64~3
"""

_POSTGRES: Final = """
main ; 0 ; PostmasterMain~9
PostmasterMain ; 0 ; ServerLoop~9
ServerLoop ; 0 ; BackendStartup~9 ; AutoVacLauncherMain~0.6 ; BackgroundWriterMain~0.5 ; WalWriterMain~0.5
BackendStartup ; 0 ; PostgresMain~9
PostgresMain ; 1 ; exec_simple_query~4 ; exec_execute_message~5 ; exec_bind_message~2 ; ReadCommand~1
ReadCommand ; 0 ; secure_read~3
secure_read ; 1 ; libc:recv~4
exec_bind_message ; 1 ; GetCachedPlan~4
GetCachedPlan ; 1 ; BuildCachedPlan~2
BuildCachedPlan ; 0 ; pg_plan_queries~5
pg_plan_queries ; 1 ; standard_planner~6
standard_planner ; 1 ; subquery_planner~6
subquery_planner ; 2 ; grouping_planner~5 ; subquery_planner~1
grouping_planner ; 1 ; query_planner~4
query_planner ; 2 ; make_one_rel~4
make_one_rel ; 2 ; standard_join_search~4
standard_join_search ; 3 ; add_paths_to_joinrel~4
exec_simple_query ; 1 ; PortalRun~7 ; pg_plan_queries~2 ; raw_parser~1
exec_execute_message ; 1 ; PortalRun~9
PortalRun ; 0 ; standard_ExecutorRun~9 ; ProcessUtility~1
standard_ExecutorRun ; 0 ; ExecutePlan~9
ExecutePlan ; 1 ; ExecHashJoin~3 ; ExecSort~2 ; ExecAgg~2 ; ExecModifyTable~2 ; ExecIndexScan~4
ExecSort ; 1 ; tuplesort_performsort~4 ; ExecSeqScan~3
tuplesort_performsort ; 2 ; qsort_tuple~6
qsort_tuple ; 4 ; qsort_tuple~4 ; varstrfastcmp_locale~3
varstrfastcmp_locale ; 1 ; libc:strcoll_l~4
ExecHashJoin ; 3 ; ExecSeqScan~4 ; ExecScanHashBucket~3 ; ExecHashJoin~1
ExecAgg ; 3 ; ExecSeqScan~3 ; ExecHashJoin~2 ; ExecInterpExpr~3
ExecSeqScan ; 2 ; heap_getnextslot~6 ; ExecInterpExpr~3
ExecInterpExpr ; 4 ; slot_getsomeattrs_int~3 ; int4eq~1
heap_getnextslot ; 2 ; heapgettup_pagemode~5
heapgettup_pagemode ; 3 ; heapgetpage~4
heapgetpage ; 2 ; HeapTupleSatisfiesMVCC~3 ; ReadBufferExtended~3
ExecIndexScan ; 1 ; index_getnext_tid~6 ; ExecInterpExpr~2
index_getnext_tid ; 1 ; btgettuple~6
btgettuple ; 1 ; _bt_first~6
_bt_first ; 2 ; _bt_search~6 ; _bt_readpage~2
_bt_search ; 2 ; _bt_binsrch~4 ; _bt_relandgetbuf~3
_bt_binsrch ; 3 ; _bt_compare~4
_bt_relandgetbuf ; 1 ; ReadBufferExtended~4
ReadBufferExtended ; 1 ; BufTableLookup~3 ; LWLockAcquire~2 ; mdread~2
LWLockAcquire ; 4 ; libc:__lll_lock_wait~1
mdread ; 0 ; FileRead~4
FileRead ; 0 ; libc:read~4
ExecModifyTable ; 1 ; heap_update~4 ; ExecInsertIndexTuples~3
heap_update ; 2 ; XLogInsert~4
XLogInsert ; 2 ; XLogInsertRecord~4
XLogInsertRecord ; 2 ; LWLockAcquire~2 ; pg_comp_crc32c_sse42~2
ExecInsertIndexTuples ; 1 ; btinsert~4
btinsert ; 1 ; _bt_search~3
WalWriterMain ; 1 ; XLogBackgroundFlush~4
XLogBackgroundFlush ; 1 ; libc:fsync~3 ; libc:write~3
AutoVacLauncherMain ; 1 ; heap_vacuum_rel~4
heap_vacuum_rel ; 1 ; lazy_scan_prune~4
BackgroundWriterMain ; 1 ; BgBufferSync~3
"""

_REDIS: Final = """
main ; 0 ; aeMain~9
aeMain ; 0 ; aeProcessEvents~9
aeProcessEvents ; 2 ; libc:epoll_wait~2 ; readQueryFromClient~8 ; serverCron~1 ; handleClientsWithPendingWrites~4
handleClientsWithPendingWrites ; 1 ; writeToClient~6
writeToClient ; 1 ; libc:write~8
readQueryFromClient ; 1 ; libc:read~4 ; processInputBuffer~7
processInputBuffer ; 2 ; processMultibulkBuffer~3 ; processCommand~7
processCommand ; 2 ; call~8 ; lookupCommand~1
call ; 1 ; getCommand~5 ; setCommand~3 ; hgetallCommand~2 ; zrangeCommand~2
getCommand ; 1 ; lookupKeyReadWithFlags~5 ; addReplyBulk~3
lookupKeyReadWithFlags ; 1 ; dictFind~6
dictFind ; 4 ; siphash~3 ; sdslen~1
setCommand ; 1 ; dbAdd~4 ; libc:malloc~2
dbAdd ; 1 ; dictAdd~3
dictAdd ; 2 ; dictExpand~1
hgetallCommand ; 2 ; hashTypeNext~4 ; addReplyBulk~3
zrangeCommand ; 1 ; zslGetElementByRank~3
serverCron ; 1 ; databasesCron~4
databasesCron ; 1 ; activeExpireCycle~4 ; dictRehashMilliseconds~2
addReplyBulk ; 2 ; libc:memcpy@@GLIBC_2.14~3
"""

_MEMCACHED: Final = """
main ; 0 ; event_base_loop~9
event_base_loop ; 1 ; libc:epoll_wait~3 ; event_handler~9
event_handler ; 0 ; drive_machine~9
drive_machine ; 3 ; libc:read~4 ; process_command_ascii~6 ; libc:send~4
process_command_ascii ; 2 ; process_get_command~6 ; process_update_command~2
process_get_command ; 1 ; item_get~6
item_get ; 1 ; assoc_find~6 ; do_item_bump~2
assoc_find ; 4 ; MurmurHash3_x86_32~2 ; libc:memcmp~2
process_update_command ; 1 ; do_item_alloc~4
do_item_alloc ; 1 ; do_slabs_alloc~3
"""

SERVERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: _START + text
        for name, text in {
            "nginx": _NGINX,
            "postgres": _POSTGRES,
            "redis-server": _REDIS,
            "memcached": _MEMCACHED,
        }.items()
    }
)
"""Call graphs by executable; each starts at `_start`."""
