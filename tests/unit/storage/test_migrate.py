"""The revisions that the program knows without loading Alembic."""

from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory

from storage import migrate, migrations


def test_the_names_of_files_are_the_revisions_in_the_order_that_alembic_applies_them():
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert list(migrate._known()) == [script.revision for script in scripts][::-1]
