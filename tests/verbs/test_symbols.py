# SPDX-License-Identifier: Apache-2.0
"""What libibverbs.so.1 exports: rdma-core's symbols with their versions, those of libc it stands before, no more."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

LIBRARY = os.environ["ROCELAB_LIBIBVERBS"]
MAP = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "src" / "verbs" / "ibverbs" / "libibverbs.map"
IN_FRONT = set("open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 fopen fopen64 stat stat64 "
               "lstat lstat64 __xstat __xstat64 __lxstat __lxstat64 fstatat fstatat64 __fxstatat __fxstatat64 statx "
               "access eaccess euidaccess faccessat readlink readlinkat __readlink_chk realpath __realpath_chk "
               "opendir chdir getxattr lgetxattr scandir scandir64 "
               "poll ppoll __poll_chk __ppoll_chk epoll_ctl epoll_wait epoll_pwait".split())
# The interface of before 2007: every function whose structures changed then.
OLD = set("ack_async_event ack_cq_events alloc_pd attach_mcast close_device create_ah create_cq "
          "create_qp create_srq dealloc_pd dereg_mr destroy_ah destroy_cq destroy_qp destroy_srq "
          "detach_mcast free_device_list get_async_event get_cq_event get_device_guid get_device_list "
          "get_device_name modify_qp modify_srq open_device query_device query_gid query_pkey "
          "query_port query_qp query_srq reg_mr resize_cq".split())


def exported(path):
    lines = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in lines.splitlines() if line.split()[1] != "A"}


@unittest.skipUnless(shutil.which("nm"), "no nm here")
class Symbols(unittest.TestCase):
    def setUp(self):
        self.ours = exported(LIBRARY)

    def test_the_map_is_what_is_exported(self):
        nodes = re.findall(r"(?ms)^(\w[\w.]*) \{\s+global:\n(.*?)(?:    local:|\})", MAP.read_text())
        named = {f"{symbol}@@{node}" for node, body in nodes for symbol in re.findall(r"(\w+);", body)}
        self.assertEqual(len(named), 180 - len(OLD) - 1 + 19)  # rdma-core 44's, and what came up to 65
        self.assertEqual(named - self.ours, set())

    def test_the_oldest_interface_is_there(self):
        self.assertEqual({f"ibv_{name}@IBVERBS_1.0" for name in OLD} - self.ours, set())
        self.assertIn("ibv_register_driver@IBVERBS_1.1", self.ours)

    @unittest.skipUnless(os.environ.get("ROCELAB_SANITIZED", "") == "", "a sanitizer adds symbols")
    def test_nothing_else_leaks(self):
        plain = {name for name in self.ours if "@" not in name}
        self.assertEqual(plain, IN_FRONT)
        for name in self.ours - plain:
            self.assertRegex(name, r"@@?(IBVERBS_|ROCELAB_1)")

    def test_like_rdma_core_where_it_is_installed(self):
        system = pathlib.Path("/usr/lib/x86_64-linux-gnu/libibverbs.so.1")
        if not system.exists():
            self.skipTest("no rdma-core here")
        theirs = exported(system)
        if not any(name.endswith("IBVERBS_PRIVATE_34") for name in theirs):
            self.skipTest("another rdma-core than the one whose private symbols we have")
        self.assertEqual(theirs - self.ours, set())

    @unittest.skipUnless(shutil.which("cc") and not os.environ.get("ROCELAB_SANITIZED"), "no compiler, or a sanitizer")
    def test_programs_of_newer_releases_start(self):
        """A program linked against a stand-in for rdma-core 65 runs with ours in its place."""
        stand_in = "".join(f"void {name}(void) {{}}\n" for name in
                           ("ibv_reg_mr_ex", "ibv_query_port_speed", "ibv_alloc_buf", "ibv_create_comp_cntr",
                            "verbs_register_driver_65", "ibv_cmd_reg_mr_ex", "verbs_set_ops"))
        versions = ("IBVERBS_1.15 { global: ibv_reg_mr_ex; }; IBVERBS_1.16 { global: ibv_query_port_speed; }; "
                    "IBVERBS_1.17 { global: ibv_alloc_buf; }; IBVERBS_1.18 { global: ibv_create_comp_cntr; }; "
                    "IBVERBS_PRIVATE_65 { global: verbs_register_driver_65; ibv_cmd_reg_mr_ex; verbs_set_ops; };")
        program = """#include <errno.h>
            #include <stdint.h>
            #include <stdlib.h>
            void *ibv_create_comp_cntr(void *, void *), *ibv_alloc_buf(void *, size_t, void **);
            void ibv_reg_mr_ex(void), ibv_query_port_speed(void), verbs_register_driver_65(void), verbs_set_ops(void);
            int ibv_cmd_reg_mr_ex(void);
            void *volatile kept[2];
            int main(void) {
                void *buf;
                kept[0] = (void *)ibv_reg_mr_ex, kept[1] = (void *)ibv_query_port_speed;
                verbs_register_driver_65(), verbs_set_ops();
                if (ibv_create_comp_cntr(NULL, NULL) != NULL || errno != EOPNOTSUPP) return 1;
                return ibv_cmd_reg_mr_ex() != EOPNOTSUPP || ibv_alloc_buf(NULL, 100, &buf) == NULL;
            }"""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in (("lib.c", stand_in), ("lib.map", versions), ("main.c", program)):
                (root / name).write_text(text)
            subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libibverbs.so.1", "-Wl,--version-script=lib.map",
                            "-o", "libibverbs.so", "lib.c"], cwd=root, check=True)
            subprocess.run(["cc", "-o", "main", "main.c", "-L.", "-libverbs"], cwd=root, check=True)
            result = subprocess.run([root / "main"], env={"LD_LIBRARY_PATH": os.path.dirname(LIBRARY)},
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_drivers_load_beside_it(self):
        found = [path for path in ("/usr/lib/x86_64-linux-gnu/libmlx5.so.1", "/usr/lib/x86_64-linux-gnu/libefa.so.1")
                 if os.path.exists(path)]
        if not found or os.environ.get("ROCELAB_SANITIZED"):
            self.skipTest("no drivers here, or a sanitizer in the way")
        for driver in found:
            result = subprocess.run(["/usr/bin/python3", "-c", f"import ctypes; ctypes.CDLL('{driver}')"],
                                    env={**os.environ, "LD_PRELOAD": LIBRARY}, capture_output=True, text=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
