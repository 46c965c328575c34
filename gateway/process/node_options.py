"""The options of node(1), versions 12 to 24, by whether the next argument is their value.

From node's own command line tables (src/node_options.cc; `internalBinding('options')`). Options of V8 never take the
next argument. An option in neither table has a value only if "=" joins one.
"""

from __future__ import annotations

from typing import Final

_ALONE: Final = """
    -c --check --build-snapshot --watch --watch-preserve-output --enable-source-maps --preserve-symlinks --preserve-symlinks-main
    --inspect --inspect-brk --inspect-brk-node --inspect-wait --debug --debug-brk --track-heap-objects --cpu-prof --heap-prof
    --abort-on-uncaught-exception --addons --deprecation --pending-deprecation --throw-deprecation --trace-deprecation --warnings
    --trace-warnings --trace-uncaught --trace-exit --trace-sigint --trace-sync-io --trace-tls --trace-promises --trace-atomics-wait
    --trace-events-enabled --trace-env --trace-env-js-stack --trace-env-native-stack --frozen-intrinsics --force-fips --enable-fips
    --force-context-aware --force-async-hooks-checks --force-node-api-uncaught-exceptions-policy --insecure-http-parser
    --openssl-legacy-provider --openssl-shared-config --use-bundled-ca --use-openssl-ca --use-system-ca --tls-min-v1.0 --tls-min-v1.1
    --tls-min-v1.2 --tls-min-v1.3 --tls-max-v1.2 --tls-max-v1.3 --zero-fill-buffers --verify-base-objects --expose-internals
    --extra-info-on-fatal-exception --disable-wasm-trap-handler --disable-sigusr1 --network-family-autoselection
    --enable-network-family-autoselection --node-snapshot --global-search-paths --report-compact --report-exclude-env
    --report-exclude-network --report-on-fatalerror --report-on-signal --report-uncaught-exception --allow-addons --allow-child-process
    --allow-inspector --allow-net --allow-wasi --allow-worker --permission --async-context-frame --http-parser --napi-modules
    --experimental-abortcontroller --experimental-addon-modules --experimental-detect-module --experimental-eventsource
    --experimental-fetch --experimental-global-customevent --experimental-global-webcrypto --experimental-import-meta-resolve
    --experimental-json-modules --experimental-modules --experimental-network-imports --experimental-network-inspection
    --experimental-permission --experimental-print-required-tla --experimental-repl-await --experimental-report
    --experimental-require-module --experimental-shadow-realm --experimental-specifier-resolution --experimental-sqlite
    --experimental-strip-types --experimental-top-level-await --experimental-transform-types --experimental-vm-modules
    --experimental-wasi-unstable-preview1 --experimental-wasm-modules --experimental-websocket --experimental-webstorage
    --experimental-worker --es-module-specifier-resolution
    --expose-gc --jitless --disallow-code-generation-from-strings --prof --huge-max-old-generation-size
    --interpreted-frames-native-stack --perf-basic-prof --perf-basic-prof-only-functions --perf-prof --perf-prof-unwinding-info
    --enable-etw-stack-walking --harmony-shadow-realm --harmony --allow-natives-syntax --trace-gc --trace-opt --trace-deopt
    --optimize-for-size --single-threaded --use-strict
"""
_VALUED: Final = """
    -r --require --import --loader --experimental-loader -C --conditions --input-type --experimental-default-type --env-file
    --env-file-if-exists --title --watch-path --watch-kill-signal --inspect-port --debug-port --inspect-publish-uid --icu-data-dir
    --openssl-config --tls-cipher-list --tls-keylog --redirect-warnings --disable-warning --disable-proto --unhandled-rejections
    --diagnostic-dir --report-dir --report-directory --report-filename --report-signal --heapsnapshot-signal
    --heapsnapshot-near-heap-limit --cpu-prof-dir --cpu-prof-name --cpu-prof-interval --heap-prof-dir --heap-prof-name
    --heap-prof-interval --trace-event-categories --trace-event-file-pattern --trace-require-module --snapshot-blob
    --build-snapshot-config --experimental-sea-config --experimental-config-file --experimental-policy --policy-integrity
    --security-revert --security-reverts --secure-heap --secure-heap-min --v8-pool-size --max-http-header-size --dns-result-order
    --network-family-autoselection-attempt-timeout --use-largepages --allow-fs-read --allow-fs-write --localstorage-file
"""
ALONE: Final = frozenset(_ALONE.split())
"""Options without a value, or with one only after "="."""
VALUED: Final = frozenset(_VALUED.split())
"""Options with a value after "=" or in the next argument."""
