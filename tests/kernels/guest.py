"""The guest: a Debian of its own with its own kernel and systemd, the package installed, and no Python."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_PACKAGES = "systemd,systemd-sysv,udev,kmod,iproute2,netbase,dbus"
_KERNEL = "linux-image-cloud-amd64"
_UNWANTED = ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists")
_NETWORK = """[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'modprobe virtio_pci; modprobe virtio_net; i=$$(ls /sys/class/net | grep -v lo | head -1); ip link set $$i up; \
ip address add 10.0.2.15/24 dev $$i; ip route add default via 10.0.2.2'
"""
# Everything the host wants to know is on the console, one line each.
_REPORT = r"""#!/bin/sh
say() { echo "GUEST $*" >/dev/console; }
say kernel $(uname -r)
say python $(ls /usr/bin/python3* 2>/dev/null | wc -l)
say verify $(systemd-analyze verify fleetprof-gateway.socket fleetprof-gateway.service 2>&1 | tr '\n' ';')
say security $(systemd-analyze security fleetprof-gateway.service --no-pager 2>/dev/null | tail -1)
say listening
before=inactive
while sleep 2; do
    state=$(systemctl is-active fleetprof-gateway.service)
    cg=$(systemctl show -p ControlGroup --value fleetprof-gateway.service)
    peak=$(cat /sys/fs/cgroup$cg/memory.peak 2>/dev/null || cat /sys/fs/cgroup$cg/memory.current 2>/dev/null)
    say service $state memory ${peak:-0}
    [ $state = failed ] && say result $(systemctl show -p Result -p ExecMainStatus fleetprof-gateway.service)
    # Load only while it is looked at: starting beside it takes minutes where instructions are interpreted.
    [ $state = active ] && [ $before = inactive ] && systemctl start load load-perl load-kernel
    [ $state = inactive ] && [ $before = active ] && systemctl stop load load-perl load-kernel
    [ $state = active ] || [ $state = inactive ] && before=$state
done
"""
# Where systemd would take too long: the same program, waiting on the port by itself as root.
_PLAIN = r"""#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs run /run
mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup /sys/fs/cgroup
say() { echo "GUEST $*" >/dev/console; }
start() {
    for unit in load load-perl load-kernel; do
        mkdir -p /sys/fs/cgroup/system.slice/$unit.service
        sh -c 'echo $$ >/sys/fs/cgroup/system.slice/'$unit'.service/cgroup.procs
            exec $(sed -n "s/^ExecStart=//p" /etc/systemd/system/'$unit'.service)' &
    done
}
stop() { for unit in /sys/fs/cgroup/system.slice/load*; do for pid in $(cat $unit/cgroup.procs); do kill -9 $pid; done; done; }
modprobe virtio_pci; modprobe virtio_net
ip link set lo up; ip link set eth0 up; ip address add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
say kernel $(uname -r)
say python $(ls /usr/bin/python3* 2>/dev/null | wc -l)
. /etc/default/fleetprof-gateway
fleetprof-gateway --listen 0.0.0.0:7071 --tls-cert /etc/fleetprof/gateway.crt --tls-key /etc/fleetprof/gateway.key \
    --tls-client-ca /etc/fleetprof/ca.crt $FLEETPROF_GATEWAY_OPTIONS >/dev/console 2>&1 &
gateway=$!
say listening
before=inactive
while sleep 2; do
    children=$(cat /proc/$gateway/task/$gateway/children)
    [ -n "$children" ] && state=active || state=inactive
    say service $state memory 0
    [ $state = active ] && [ $before = inactive ] && start
    [ $state = inactive ] && [ $before = active ] && stop
    before=$state
done
"""
# Not `tty`: PrivateDevices= leaves the service no console, and it would fail to start.
_DROP_IN = "[Service]\nStandardOutput=journal+console\nStandardError=journal+console\n"


@dataclass(frozen=True, slots=True)
class Guest:
    """What qemu boots."""

    kernel: Path
    initrd: Path


class Kitchen:
    """Makes guests in one folder, which may be kept; needs root, debootstrap, apt and cpio."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def guest(
        self, suite: str, package: Path, certificates: Path, cpus: int, options: str, *, plain: bool
    ) -> Guest:
        """A guest of a Debian release with the gateway's package installed and its load running."""
        root = self._root(suite)
        kernel = self._kernel(suite, root)
        self._install(root, package, certificates, options)
        self._services(root, cpus)
        if plain:
            (root / "init").write_text(_PLAIN)
            (root / "init").chmod(0o755)
        else:
            (root / "init").symlink_to("/sbin/init")
        for unwanted in _UNWANTED:
            shutil.rmtree(root / unwanted, ignore_errors=True)
        initrd = self._folder / f"{suite}.cpio"
        with initrd.open("wb") as file:
            names = subprocess.Popen(["find", ".", "-xdev", "-print0"], cwd=root, stdout=subprocess.PIPE)
            pack = ["cpio", "--null", "--quiet", "-o", "-H", "newc"]
            subprocess.run(pack, cwd=root, stdin=names.stdout, stdout=file, check=True)
            names.wait()
        return Guest(kernel, initrd)

    def _root(self, suite: str) -> Path:
        """A fresh copy of the release, which is fetched once."""
        clean, root = self._folder / f"root-{suite}", self._folder / f"guest-{suite}"
        done = self._folder / f"root-{suite}/.ok"
        if not done.exists():
            shutil.rmtree(clean, ignore_errors=True)
            bootstrap = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", suite, clean]
            subprocess.run(bootstrap, check=True, stdout=subprocess.DEVNULL)
            done.touch()
        if root.exists():
            shutil.rmtree(root)
        subprocess.run(["cp", "-a", "--reflink=auto", f"{clean.resolve()}/.", root], check=True)
        return root

    def _kernel(self, suite: str, root: Path) -> Path:
        """The release's kernel for virtual machines, from its own archive; its modules go into the root."""
        tree = self._folder / f"kernel-{suite}"
        if not tree.exists():
            inside = f"apt-get -q update && cd /tmp && apt-get -q download $(apt-cache depends {_KERNEL} | sed -n 's/.*Depends: \\(linux-image-[0-9].*\\)/\\1/p')"
            subprocess.run(["chroot", root, "sh", "-ec", inside], check=True, stdout=subprocess.DEVNULL)
            [package] = (root / "tmp").glob("linux-image-*.deb")
            subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
            package.unlink()
        source = next(place for place in (tree / "lib/modules", tree / "usr/lib/modules") if place.exists())
        modules = root / "usr/lib/modules"
        shutil.copytree(source, modules, symlinks=True)
        [version] = (folder.name for folder in modules.iterdir())
        subprocess.run(["chroot", root, "depmod", version], check=True)
        # All drivers of a kernel take a minute to unpack and two to load under an interpreter.
        needed = set()
        for name in ("virtio_pci", "virtio_net"):
            command = ["chroot", root, "modprobe", "-S", version, "--show-depends", name]
            for line in subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.splitlines():
                if line.startswith("insmod"):
                    needed.add(Path(line.split()[1]).name)
        for file in modules.rglob("*.ko*"):
            if file.name not in needed:
                file.unlink()
        subprocess.run(["chroot", root, "depmod", version], check=True)
        return next((tree / "boot").glob("vmlinuz-*"))

    def _install(self, root: Path, package: Path, certificates: Path, options: str) -> None:
        shutil.copy(package, root / "tmp/gateway.deb")
        subprocess.run(
            ["chroot", root, "dpkg", "-i", "/tmp/gateway.deb"], check=True, stdout=subprocess.DEVNULL
        )
        (root / "tmp/gateway.deb").unlink()
        for file in ("gateway.crt", "gateway.key", "ca.crt"):
            shutil.copy(certificates / file, root / "etc/fleetprof" / file)
        (root / "etc/default/fleetprof-gateway").write_text(f'FLEETPROF_GATEWAY_OPTIONS="{options}"\n')
        drop_in = root / "etc/systemd/system/fleetprof-gateway.service.d/test.conf"
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text(_DROP_IN)
        subprocess.run(["chroot", root, "systemctl", "-q", "enable", "fleetprof-gateway.socket"], check=True)

    def _services(self, root: Path, cpus: int) -> None:
        build = ["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-static"]
        subprocess.run([*build, "-o", root / "usr/bin/load", HERE / "load.c"], check=True)
        (root / "usr/bin/report").write_text(_REPORT)
        (root / "usr/bin/report").chmod(0o755)
        (root / "usr/bin/load.pl").write_text("while (1) { my @a = sort map { rand() } 1..2000; }\n")
        perl = "/usr/bin/perl /usr/bin/load.pl"
        units = {
            "network-by-hand": _NETWORK,
            "load": f"[Service]\nExecStart=/usr/bin/load {max(1, cpus - 2)}\n",
            "load-perl": f"[Service]\nExecStart={perl}\n",
            "load-kernel": "[Service]\nExecStart=/bin/dd if=/dev/zero of=/dev/null bs=64k\n",
            "report": "[Unit]\nAfter=multi-user.target\n[Service]\nExecStart=/usr/bin/report\n",
        }
        system = root / "etc/systemd/system"
        for name, text in units.items():
            (system / f"{name}.service").write_text(text)
            (system / "multi-user.target.wants").mkdir(exist_ok=True)
            if not name.startswith("load"):
                (system / f"multi-user.target.wants/{name}.service").symlink_to(f"../{name}.service")
        for masked in (
            "systemd-udev-trigger",
            "systemd-udevd",
            "systemd-timesyncd",
            "apt-daily.timer",
            "apt-daily-upgrade.timer",
            "serial-getty@ttyS0",
            "getty@tty1",
        ):
            name = masked if masked.endswith(".timer") else f"{masked}.service"
            (system / name).unlink(missing_ok=True)
            (system / name).symlink_to("/dev/null")
