"""Runtimes: the code that programs of one language share, from a thread's start to their own code and below it.

The names are those that real programs of these kinds show in a profile (Go 1.22, OpenJDK 21, CPython 3.12 with perf
trampolines, Node.js 20, glibc 2.36); the graphs between them are simplified. nginx and memcached are in `servers`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from simulation.seeded_random import word

ENTRY: Final = "@entry"
"""Placeholder for the program's own outermost functions."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A kind of program."""

    roots: Mapping[str, float]
    """Places where threads start, and their shares."""
    skeleton: str
    """Lines of the call language; `@entry` is the program's own code."""
    leaves: Mapping[str, float]
    """Callees of a program's own functions in the runtime and in libraries."""
    name: Callable[[str, str, str], str]
    """Name of a program's own function in the call language, from (application, noun, verb)."""
    spacers: Sequence[str] = ()
    """Interpreter frames between two calls of the program's own functions, outermost first."""
    image: str = ""
    """Base name of the interpreter; "" if the executable is the application's own."""


def _camel(*words: str) -> str:
    return "".join(part[:1].upper() + part[1:] for text in words for part in text.split("-"))


def _go(application: str, noun: str, verb: str) -> str:
    return f"acme.dev/{application}/internal/{noun}.(*{_camel(noun)}).{_camel(verb)}"


def _cpp(application: str, noun: str, verb: str) -> str:
    return f"acme::{application.replace('-', '_')}::{_camel(noun)}::{_camel(verb)}()"


def _rust(application: str, noun: str, verb: str) -> str:
    return f"{application.replace('-', '_')}::{noun}::{_camel(noun)}::{verb}[rs]"


def _python(application: str, noun: str, verb: str) -> str:
    package = application.replace("-", "_")
    return f"jit:py::{verb}_{noun}:/srv/{package}/{package}/{noun}.py"


def _java(application: str, noun: str, verb: str) -> str:
    return f"jit:com.acme.{application.replace('-', '.')}.{_camel(noun)}Service::{verb}{_camel(noun)}"


def _node(application: str, noun: str, verb: str) -> str:
    line = 1 + word(f"{application}{noun}{verb}") % 400
    return f"jit:JS:*{verb}{_camel(noun)} /srv/{application}/dist/{noun}.js:{line}:12"


def _c(application: str, noun: str, verb: str) -> str:
    return f"{application.replace('-', '_')}_{noun}_{verb}"


_GO: Final = Runtime(
    roots={"runtime.goexit.abi0": 16, "runtime.mcall": 1, "runtime.mstart.abi0": 1, "runtime.gcBgMarkWorker": 2},
    skeleton="""
runtime.goexit.abi0 ; 0 ; net/http.(*conn).serve~8 ; acme.dev/kit/pool.(*Worker).run~3
net/http.(*conn).serve ; 1 ; net/http.serverHandler.ServeHTTP~16 ; net/http.(*conn).readRequest~2 ; net/http.(*response).finishRequest~1
net/http.(*conn).readRequest ; 1 ; net/http.readRequest~4 ; internal/poll.(*FD).Read~3
net/http.readRequest ; 2 ; net/textproto.(*Reader).ReadMIMEHeader~3 ; runtime.mallocgc~2
net/http.serverHandler.ServeHTTP ; 0 ; net/http.(*ServeMux).ServeHTTP~9
net/http.(*ServeMux).ServeHTTP ; 1 ; acme.dev/kit/trace.Middleware.func1~9
acme.dev/kit/trace.Middleware.func1 ; 1 ; net/http.HandlerFunc.ServeHTTP~9
net/http.HandlerFunc.ServeHTTP ; 0 ; @entry~9
acme.dev/kit/pool.(*Worker).run ; 1 ; @entry~9
net/http.(*response).finishRequest ; 1 ; internal/poll.(*FD).Write~4
internal/poll.(*FD).Read ; 1 ; syscall.Syscall#read~5
internal/poll.(*FD).Write ; 1 ; syscall.Syscall#write~5
syscall.Syscall#read ; 1 ; kernel:entry_SYSCALL_64_after_hwframe#read~9
syscall.Syscall#write ; 1 ; kernel:entry_SYSCALL_64_after_hwframe#write~9
runtime.mallocgc ; 6 ; runtime.(*mcache).nextFree~3 ; runtime.heapSetType~2 ; runtime.gcAssistAlloc~1 ; runtime.memclrNoHeapPointers~2
runtime.(*mcache).nextFree ; 2 ; runtime.(*mcache).refill~3
runtime.(*mcache).refill ; 2 ; runtime.(*mcentral).cacheSpan~3
runtime.(*mcentral).cacheSpan ; 3 ; runtime.lock2~1
runtime.memclrNoHeapPointers ; 4 ; kernel:asm_exc_page_fault~1
runtime.gcAssistAlloc ; 1 ; runtime.gcDrainN~3
runtime.gcDrainN ; 2 ; runtime.scanobject~4
runtime.gcBgMarkWorker ; 0 ; runtime.systemstack.abi0~9
runtime.systemstack.abi0 ; 0 ; runtime.gcDrain~9
runtime.gcDrain ; 2 ; runtime.scanobject~8 ; runtime.markroot~1
runtime.scanobject ; 6 ; runtime.greyobject~3 ; runtime.findObject~3
runtime.mcall ; 0 ; runtime.park_m~9
runtime.park_m ; 1 ; runtime.schedule~9
runtime.mstart.abi0 ; 0 ; runtime.mstart1~9
runtime.mstart1 ; 0 ; runtime.schedule~9
runtime.schedule ; 2 ; runtime.findRunnable~8 ; runtime.execute~1
runtime.findRunnable ; 4 ; runtime.netpoll~3 ; runtime.stealWork~3 ; runtime.futexsleep~2 ; runtime.lock2~1
runtime.netpoll ; 1 ; kernel:entry_SYSCALL_64_after_hwframe#epoll_wait~5
runtime.futexsleep ; 1 ; runtime.futex.abi0~9
runtime.futex.abi0 ; 1 ; kernel:entry_SYSCALL_64_after_hwframe#futex~9
runtime.lock2 ; 3 ; runtime.futexsleep#lock~1
runtime.futexsleep#lock ; 1 ; runtime.futex.abi0~9
encoding/json.Unmarshal ; 1 ; encoding/json.(*decodeState).value~6
encoding/json.(*decodeState).value ; 2 ; encoding/json.(*decodeState).object~4 ; encoding/json.(*decodeState).array~2
encoding/json.(*decodeState).array ; 1 ; encoding/json.(*decodeState).value~2
encoding/json.(*decodeState).object ; 3 ; encoding/json.(*decodeState).value~3 ; encoding/json.(*decodeState).scanWhile~4 ; reflect.Value.SetString~2 ; runtime.mallocgc~3
encoding/json.Marshal ; 1 ; encoding/json.structEncoder.encode~6
encoding/json.structEncoder.encode ; 3 ; encoding/json.structEncoder.encode~2 ; encoding/json.stringEncoder~4 ; runtime.growslice~2
runtime.growslice ; 1 ; runtime.mallocgc~3 ; runtime.memmove~3
crypto/tls.(*Conn).Write ; 1 ; crypto/aes/gcm.(*GCM).Seal~5 ; internal/poll.(*FD).Write~3
google.golang.org/grpc.(*ClientConn).Invoke ; 1 ; google.golang.org/protobuf/proto.Marshal~4 ; internal/poll.(*FD).Write~2 ; crypto/tls.(*Conn).Write~3
google.golang.org/protobuf/proto.Marshal ; 3 ; google.golang.org/protobuf/internal/impl.(*MessageInfo).marshalAppendPointer~5
google.golang.org/protobuf/internal/impl.(*MessageInfo).marshalAppendPointer ; 3 ; google.golang.org/protobuf/internal/impl.(*MessageInfo).marshalAppendPointer~2 ; runtime.memmove~2
""",
    leaves={"runtime.mallocgc": 6, "runtime.memmove": 3, "encoding/json.Unmarshal": 3, "encoding/json.Marshal": 2,
            "runtime.mapaccess2_faststr": 3, "runtime.mapassign_faststr": 2, "strings.Index": 1, "runtime.growslice": 2,
            "google.golang.org/grpc.(*ClientConn).Invoke": 2, "runtime.lock2": 1, "fmt.Sprintf": 1},
    name=_go,
)  # fmt: skip

_CPP: Final = Runtime(
    roots={"libc:clone3": 9, "_start": 1},
    skeleton="""
libc:clone3 ; 0 ; libc:start_thread~9
libc:start_thread ; 0 ; acme::ThreadPool::WorkerLoop()~9
_start ; 0 ; libc:__libc_start_main@@GLIBC_2.34~9
libc:__libc_start_main@@GLIBC_2.34 ; 0 ; main~9
main ; 1 ; acme::EventLoop::Run()~9
acme::EventLoop::Run() ; 1 ; libc:epoll_wait~2 ; acme::EventLoop::Dispatch()~7
acme::EventLoop::Dispatch() ; 1 ; @entry~6 ; libc:recv~2
acme::ThreadPool::WorkerLoop() ; 1 ; acme::Task::Run()~16 ; libc:__lll_lock_wait~1
acme::Task::Run() ; 1 ; @entry~20
libstdcpp:_Znwm ; 2 ; libc:malloc~8
libc:malloc ; 8 ; libc:_int_malloc~6 ; libc:__lll_lock_wait~0.5
libc:_int_malloc ; 8 ; libc:malloc_consolidate~1 ; libc:sysmalloc~1
libc:sysmalloc ; 1 ; libc:mmap~2
libc:cfree@GLIBC_2.2.5 ; 3 ; libc:_int_free~4
libc:_int_free ; 4 ; libc:madvise~0.5
libc:memcpy@@GLIBC_2.14 ; 9 ; kernel:asm_exc_page_fault~1
google::protobuf::MessageLite::ParseFromCodedStream() ; 2 ; google::protobuf::internal::TcParser::ParseLoop()~9
google::protobuf::internal::TcParser::ParseLoop() ; 5 ; google::protobuf::internal::TcParser::FastMtS1()~3 ; libstdcpp:_Znwm~2
google::protobuf::internal::TcParser::FastMtS1() ; 2 ; google::protobuf::internal::TcParser::ParseLoop()~2
libstdcpp:_ZNSs6appendEPKcm ; 2 ; libc:memcpy@@GLIBC_2.14~4 ; libstdcpp:_Znwm~1
""",
    leaves={"libstdcpp:_Znwm": 5, "libc:cfree@GLIBC_2.2.5": 3, "libc:memcpy@@GLIBC_2.14": 5, "libc:memcmp": 1,
            "libc:memset": 1, "google::protobuf::MessageLite::ParseFromCodedStream()": 3,
            "libstdcpp:_ZNSs6appendEPKcm": 1, "_ZNSt6vectorIfSaIfEE17_M_realloc_insertEv": 1, "libc:send": 2,
            "libc:pthread_cond_signal": 1, "libz:deflate": 1, "libc:expf@@GLIBC_2.27": 1},
    name=_cpp,
)  # fmt: skip

_RUST: Final = Runtime(
    roots={"libc:clone3": 9},
    skeleton="""
libc:clone3 ; 0 ; libc:start_thread~9
libc:start_thread ; 0 ; std::sys::unix::thread::Thread::new::thread_start[rs]~9
std::sys::unix::thread::Thread::new::thread_start[rs] ; 0 ; tokio::runtime::scheduler::multi_thread::worker::run[rs]~9
tokio::runtime::scheduler::multi_thread::worker::run[rs] ; 2 ; tokio::runtime::task::raw::poll[rs]~12 ; tokio::runtime::io::driver::Driver::turn[rs]~2
tokio::runtime::io::driver::Driver::turn[rs] ; 1 ; libc:epoll_wait~5
tokio::runtime::task::raw::poll[rs] ; 1 ; hyper::proto::h1::dispatch::Dispatcher::poll_catch[rs]~9
hyper::proto::h1::dispatch::Dispatcher::poll_catch[rs] ; 1 ; @entry~16 ; libc:recv~2 ; libc:send~1
serde_json::de::from_slice[rs] ; 5 ; serde_json::de::from_slice[rs]~1 ; alloc::raw_vec::finish_grow[rs]~2
alloc::raw_vec::finish_grow[rs] ; 1 ; je_malloc~6
je_malloc ; 5 ; je_tcache_bin_flush_small~1
libc:memcpy@@GLIBC_2.14 ; 9 ; kernel:asm_exc_page_fault~1
""",
    leaves={"serde_json::de::from_slice[rs]": 3, "je_malloc": 3, "je_free": 2,
            "libc:memcpy@@GLIBC_2.14": 4, "alloc::raw_vec::finish_grow[rs]": 2,
            "hashbrown::raw::RawTable::reserve_rehash[rs]": 2, "libc:send": 1, "libc:memcmp": 1},
    name=_rust,
)  # fmt: skip

_PYTHON: Final = Runtime(
    roots={"python:_start": 8, "libc:clone3": 2},
    skeleton="""
python:_start ; 0 ; libc:__libc_start_main@@GLIBC_2.34~9
libc:__libc_start_main@@GLIBC_2.34 ; 0 ; python:main~9
python:main ; 0 ; libpython:Py_BytesMain~9
libpython:Py_BytesMain ; 0 ; libpython:Py_RunMain~9
libpython:Py_RunMain ; 0 ; libpython:_PyRun_SimpleFileObject~9
libpython:_PyRun_SimpleFileObject ; 0 ; libpython:PyEval_EvalCode~9
libpython:PyEval_EvalCode ; 0 ; jit:py::<module>:/srv/app/__main__.py~9
jit:py::<module>:/srv/app/__main__.py ; 0 ; libpython:_PyEval_EvalFrameDefault#module~9
libpython:_PyEval_EvalFrameDefault#module ; 1 ; @entry~30 ; libpython:gc_collect_main~2
libc:clone3 ; 0 ; libc:start_thread~9
libc:start_thread ; 0 ; libpython:thread_run~9
libpython:thread_run ; 0 ; jit:py::run:/usr/lib/python3.12/threading.py~9
jit:py::run:/usr/lib/python3.12/threading.py ; 0 ; libpython:_PyEval_EvalFrameDefault#thread~9
libpython:_PyEval_EvalFrameDefault#thread ; 1 ; @entry~20 ; libpython:take_gil~1
libpython:take_gil ; 1 ; libc:__lll_lock_wait~3
libpython:gc_collect_main ; 2 ; libpython:deduce_unreachable~6
libpython:deduce_unreachable ; 4 ; libpython:visit_reachable~3 ; libpython:dict_traverse~3
libpython:PyObject_Malloc ; 5 ; libpython:_PyObject_Malloc~2
libpython:PyDict_SetItem ; 3 ; libpython:insertdict~4
libpython:insertdict ; 3 ; libpython:dictresize~2
libpython:PyUnicode_Format ; 2 ; libpython:_PyUnicodeWriter_WriteStr~2 ; libpython:PyObject_Malloc~2
libpython:scan_once_unicode ; 3 ; libpython:scan_once_unicode~3 ; libpython:PyDict_SetItem~2 ; libpython:PyUnicode_New~2
libpython:sock_recv ; 1 ; libc:recv~4
libpython:_Py_read ; 1 ; libc:read~4
""",
    leaves={"libpython:PyObject_Malloc": 4, "libpython:PyDict_SetItem": 3, "libpython:_PyDict_GetItem_KnownHash": 4,
            "libpython:PyUnicode_Format": 2, "libpython:scan_once_unicode": 2, "libpython:list_append": 2,
            "libpython:_Py_Dealloc": 3, "libpython:sre_lib_search": 2, "libpython:sock_recv": 1, "libpython:_Py_read": 1,
            "libpython:_PyType_Lookup": 3, "libpython:long_add": 1},
    name=_python,
    spacers=("libpython:_PyEval_EvalFrameDefault", "libpython:_PyFunction_Vectorcall"),
    image="python3.12",
)  # fmt: skip

_JAVA: Final = Runtime(
    roots={"libc:clone3": 9},
    skeleton="""
libc:clone3 ; 0 ; libc:start_thread~9
libc:start_thread ; 0 ; libjvm:thread_native_entry()~9
libjvm:thread_native_entry() ; 0 ; libjvm:Thread::call_run()~9
libjvm:Thread::call_run() ; 0 ; libjvm:JavaThread::thread_main_inner()~9 ; libjvm:WorkerThread::run()~2 ; libjvm:CompileBroker::compiler_thread_loop()~1
libjvm:JavaThread::thread_main_inner() ; 0 ; libjvm:JavaCalls::call_virtual()~9
libjvm:JavaCalls::call_virtual() ; 0 ; jit:java.lang.Thread::run~9
jit:java.lang.Thread::run ; 0 ; jit:java.util.concurrent.ThreadPoolExecutor::runWorker~9
jit:java.util.concurrent.ThreadPoolExecutor::runWorker ; 1 ; jit:io.netty.channel.nio.NioEventLoop::run~5 ; jit:java.util.concurrent.FutureTask::run~4
jit:java.util.concurrent.FutureTask::run ; 0 ; @entry~9
jit:io.netty.channel.nio.NioEventLoop::run ; 1 ; jit:io.netty.channel.nio.NioEventLoop::processSelectedKeys~8 ; jit:sun.nio.ch.EPoll::wait~1
jit:sun.nio.ch.EPoll::wait ; 0 ; libc:epoll_wait~4
jit:io.netty.channel.nio.NioEventLoop::processSelectedKeys ; 1 ; jit:io.netty.channel.AbstractChannelHandlerContext::invokeChannelRead~8
jit:io.netty.channel.AbstractChannelHandlerContext::invokeChannelRead ; 1 ; jit:io.netty.channel.AbstractChannelHandlerContext::invokeChannelRead~2 ; @entry~8 ; jit:io.netty.channel.socket.nio.NioSocketChannel::doReadBytes~1
jit:io.netty.channel.socket.nio.NioSocketChannel::doReadBytes ; 1 ; libc:read~3
libjvm:WorkerThread::run() ; 0 ; libjvm:G1EvacuateRegionsTask::work()~6 ; libjvm:G1ConcurrentMark::mark_from_roots()~2
libjvm:G1EvacuateRegionsTask::work() ; 1 ; libjvm:G1ParScanThreadState::trim_queue()~9
libjvm:G1ParScanThreadState::trim_queue() ; 4 ; libjvm:G1ParScanThreadState::copy_to_survivor_space()~6
libjvm:G1ParScanThreadState::copy_to_survivor_space() ; 5 ; libc:memcpy@@GLIBC_2.14~3
libjvm:G1ConcurrentMark::mark_from_roots() ; 3
libjvm:CompileBroker::compiler_thread_loop() ; 0 ; libjvm:C2Compiler::compile_method()~9
libjvm:C2Compiler::compile_method() ; 1 ; libjvm:Compile::Optimize()~5 ; libjvm:Compile::Code_Gen()~4
libjvm:Compile::Optimize() ; 2 ; libjvm:PhaseIterGVN::optimize()~4
libjvm:Compile::Code_Gen() ; 1 ; libjvm:PhaseChaitin::Register_Allocate()~5
jit:java.util.HashMap::putVal ; 3 ; jit:java.util.HashMap::resize~1
jit:com.fasterxml.jackson.databind.ObjectMapper::readValue ; 1 ; jit:com.fasterxml.jackson.databind.deser.BeanDeserializer::deserialize~6
jit:com.fasterxml.jackson.databind.deser.BeanDeserializer::deserialize ; 4 ; jit:com.fasterxml.jackson.databind.deser.BeanDeserializer::deserialize~2 ; jit:com.fasterxml.jackson.core.json.UTF8StreamJsonParser::nextToken~3
""",
    leaves={"jit:java.util.HashMap::getNode": 4, "jit:java.util.HashMap::putVal": 3, "jit:java.lang.StringBuilder::append": 2,
            "jit:com.fasterxml.jackson.databind.ObjectMapper::readValue": 3, "jit:java.util.ArrayList::add": 2,
            "jit:java.lang.String::hashCode": 1, "jit:jbyte_disjoint_arraycopy": 2, "libjvm:OptoRuntime::new_instance_C()": 1,
            "libc:send": 1, "jit:java.util.concurrent.ConcurrentHashMap::get": 2, "libjvm:ObjectMonitor::enter()": 1},
    name=_java,
    image="java",
)  # fmt: skip

_NODE: Final = Runtime(
    roots={"node:_start": 9, "libc:clone3": 1},
    skeleton="""
node:_start ; 0 ; libc:__libc_start_main@@GLIBC_2.34~9
libc:__libc_start_main@@GLIBC_2.34 ; 0 ; node:main~9
node:main ; 0 ; node:node::Start()~9
node:node::Start() ; 0 ; node:node::NodeMainInstance::Run()~9
node:node::NodeMainInstance::Run() ; 0 ; node:node::SpinEventLoop()~9
node:node::SpinEventLoop() ; 0 ; node:uv_run~9
node:uv_run ; 1 ; node:uv__io_poll~9 ; node:uv__run_timers~1
node:uv__run_timers ; 1 ; node:node::MakeCallback()~4
node:uv__io_poll ; 1 ; libc:epoll_wait~1 ; node:uv__stream_io~8
node:uv__stream_io ; 1 ; libc:read~1 ; node:node::MakeCallback()~9
node:node::MakeCallback() ; 1 ; node:v8::internal::(anonymous namespace)::Invoke()~9
node:v8::internal::(anonymous namespace)::Invoke() ; 0 ; jit:Builtins_JSEntry~9
jit:Builtins_JSEntry ; 0 ; jit:Builtins_JSEntryTrampoline~9
jit:Builtins_JSEntryTrampoline ; 0 ; jit:JS:*processTicksAndRejections node:internal/process/task_queues:67:35~9
jit:JS:*processTicksAndRejections node:internal/process/task_queues:67:35 ; 1 ; @entry~20
libc:clone3 ; 0 ; libc:start_thread~9
libc:start_thread ; 0 ; node:node::(anonymous namespace)::PlatformWorkerThread()~9
node:node::(anonymous namespace)::PlatformWorkerThread() ; 0 ; node:v8::internal::Scavenger::Process()~6 ; node:v8::internal::ConcurrentMarking::Run()~4
node:v8::internal::Scavenger::Process() ; 5 ; libc:memcpy@@GLIBC_2.14~2
jit:Builtins_JsonParse ; 3 ; node:v8::internal::JsonParser::Parse()~6
node:v8::internal::JsonParser::Parse() ; 5 ; node:v8::internal::Factory::NewString()~2
""",
    leaves={"jit:Builtins_KeyedLoadIC_Megamorphic": 3, "jit:Builtins_LoadIC": 3, "jit:Builtins_JsonParse": 2,
            "jit:Builtins_StringAdd_CheckNone": 2, "jit:Builtins_ArrayMap": 1, "jit:Builtins_CallFunction_ReceiverIsAny": 1,
            "node:v8::internal::Heap::AllocateRaw()": 2, "jit:Builtins_RegExpExecInternal": 2, "libc:send": 1},
    name=_node,
    image="node",
)  # fmt: skip

_C: Final = Runtime(
    roots={"_start": 9},
    skeleton="""
_start ; 0 ; libc:__libc_start_main@@GLIBC_2.34~9
libc:__libc_start_main@@GLIBC_2.34 ; 0 ; main~9
main ; 1 ; @entry~9 ; libc:epoll_wait~1
libc:malloc ; 4 ; libc:_int_malloc~4
libc:cfree@GLIBC_2.2.5 ; 3 ; libc:_int_free~3
""",
    leaves={"libc:malloc": 3, "libc:cfree@GLIBC_2.2.5": 2, "libc:memcpy@@GLIBC_2.14": 3, "libc:read": 2, "libc:write": 2,
            "libc:strlen": 1, "libc:vsnprintf": 1, "libc:open64": 1},
    name=_c,
)  # fmt: skip

RUNTIMES: Final[Mapping[str, Runtime]] = MappingProxyType(
    {"go": _GO, "cpp": _CPP, "rust": _RUST, "python": _PYTHON, "java": _JAVA, "node": _NODE, "c": _C}
)
