# SPDX-License-Identifier: Apache-2.0
"""What libibverbs.so.1 exports: rdma-core's symbols with their versions, those of libc it stands before, no more."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

LIBRARY = os.environ["ROCELAB_LIBIBVERBS"]
MAP = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "src" / "verbs" / "libibverbs.map"
IN_FRONT = set("open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 fopen fopen64 stat stat64 "
               "lstat lstat64 __xstat __xstat64 __lxstat __lxstat64 fstatat fstatat64 __fxstatat __fxstatat64 statx "
               "access eaccess euidaccess faccessat readlink readlinkat __readlink_chk realpath __realpath_chk "
               "opendir scandir scandir64".split())
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
        self.assertEqual(len(named), 180 - len(OLD) - 1)
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
