"""pip installs the package from the source tree, with the schema that it links to."""
import importlib.metadata
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import recordings


def version_of(package):
    try:
        return int(importlib.metadata.version(package).split(".")[0])
    except importlib.metadata.PackageNotFoundError:
        return 0


class Install(unittest.TestCase):
    @unittest.skipUnless(version_of("pip") >= 22 and version_of("setuptools") >= 61, "needs pip 22 and setuptools 61")
    def test_pip_installs_it_from_the_tree(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            # The parts of the tree that it consists of: setuptools writes beside them.
            tree, site = folder / "tree", folder / "site"
            shutil.copytree(str(recordings.SOURCE / "app/python"), str(tree / "app/python"), symlinks=True,
                            ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
            shutil.copytree(str(recordings.SOURCE / "core/store/schema"), str(tree / "core/store/schema"))
            shutil.copy(str(recordings.SOURCE / "LICENSE"), str(tree / "LICENSE"))
            made = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                                   "--no-build-isolation", "--target", str(site), str(tree / "app/python")],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=name)
            if "invalid command 'bdist_wheel'" in made.stdout:
                self.skipTest("this setuptools needs the package wheel")
            self.assertEqual(made.returncode, 0, made.stdout)
            shutil.rmtree(str(tree))
            read = "import tilescope; print(tilescope.__version__, len(tilescope.open({!r}).kernels()))".format(
                str(recordings.STORED[0]))
            done = subprocess.run([sys.executable, "-c", read], stdout=subprocess.PIPE, text=True, cwd=name,
                                  env={"PYTHONPATH": str(site)})
            self.assertEqual(done.stdout.split(), ["0.1.0", "520"])
            self.assertTrue(list(site.glob("tilescope-*.dist-info/**/LICENSE")))


if __name__ == "__main__":
    unittest.main()
