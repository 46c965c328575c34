"""Well-known servers with the functions of their real profiles: nginx, memcached."""

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
            "memcached": _MEMCACHED,
        }.items()
    }
)
"""Call graphs by executable; each starts at `_start`."""
