"""The TypeScript client: built, measured and tested by Node, where there is Node; its own tests read the vectors.

The packages that build it (esbuild, typescript) are fetched once, into `clients/typescript/node_modules`. Without Node,
or without a way to fetch them, these tests are skipped, and say so.
"""

import pytest

from versadp_tests import typescript


@pytest.fixture(scope="module", autouse=True)
def built():
    typescript.need_build()


def test_client_keeps_its_rules_and_reads_the_vectors():
    done = typescript.run("node", "--test", *typescript.TESTS)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert "# fail 0" in done.stdout
    assert int(done.stdout.split("# pass ")[1].split()[0]) >= 60


def test_client_is_small_and_depends_on_nothing():
    assert all((typescript.CLIENT / "dist" / f"{name}.js").stat().st_size < 16_000 for name in ("index", "plain"))
    package = typescript.package()
    assert "dependencies" not in package
    assert all(version[0].isdigit() for version in package["devDependencies"].values())
    assert not (typescript.CLIENT / "package-lock.json").exists()


def test_package_ships_types_and_the_vectors_of_the_wheel():
    from versadp.devices import vectors

    done = typescript.run("npm", "pack", "--dry-run", "--json", "--ignore-scripts")
    assert done.returncode == 0, done.stderr
    modules = [f"dist/{entry}.{kind}" for entry in ("index", "plain") for kind in ("js", "d.ts")]
    for name in (*modules, "vectors-4.json", "README.md", "LICENSE"):
        assert f'"{name}"' in done.stdout, name
    assert "build/" not in done.stdout
    assert (typescript.CLIENT / "vectors-4.json").read_bytes() == vectors.SHIPPED.read_bytes()
