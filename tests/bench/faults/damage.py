"""Truncated and randomly damaged files, opened by show and verify: the same tables as before, or one sentence."""
import pathlib
import tempfile

TABLES = ("runs", "samples", "steps", "kernels", "ops", "ranges", "memory", "losses", "environment")
PAGE = 4096


def truncated(bytes_, chance):
    return bytes_[: chance.randrange(len(bytes_))]


def flipped(bytes_, chance):
    damaged = bytearray(bytes_)
    for _ in range(chance.choice((1, 1, 4, 64))):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def headed(bytes_, chance):
    """In the first page, which identifies the file for SQLite and Tilescope."""
    damaged = bytearray(bytes_)
    for _ in range(chance.choice((1, 2, 8))):
        damaged[chance.randrange(PAGE)] = chance.randrange(256)
    return bytes(damaged)


def blanked(bytes_, chance):
    start, length = chance.randrange(len(bytes_)), chance.choice((16, 512, PAGE, 3 * PAGE))
    return (bytes_[:start] + bytes(length) + bytes_[start + length:])[: len(bytes_)]


def swapped(bytes_, chance):
    """Two pages that the disk swapped."""
    pages = [bytes_[at: at + PAGE] for at in range(0, len(bytes_), PAGE)]
    a, b = chance.randrange(len(pages)), chance.randrange(len(pages))
    pages[a], pages[b] = pages[b], pages[a]
    return b"".join(pages)


def noisy(bytes_, chance):
    start, length = chance.randrange(len(bytes_)), chance.choice((8, 100, PAGE))
    return (bytes_[:start] + chance.randbytes(length) + bytes_[start + length:])[: len(bytes_)]


DAMAGES = (truncated, flipped, headed, blanked, swapped, noisy)


def damage(lab, count, engine):
    """If `show` exits with 0 on a damaged file, its output equals that of the intact file. If `verify` accepts a file, all
    its tables are unchanged."""
    whole = lab.folder / "whole.tscope"
    lab.call(lab.batch(whole), engine)
    original = whole.read_bytes()
    shown = {table: lab.show(whole, table).out for table in TABLES}
    file = lab.folder / "damaged.tscope"
    reported = {"refused": 0, "harmless": 0}
    for index in range(count):
        how = DAMAGES[index % len(DAMAGES)]
        damaged = original
        while damaged == original:
            damaged = how(original, lab.random)
        file.write_bytes(damaged)
        verified = lab.call([lab.tilescope, "verify", file])
        if verified.code != 0 and not verified.out:
            lab.require_sentence(verified)
        # Reads all tables of a file that verify accepts, some tables of the others.
        refused = verified.code != 0
        for table in TABLES if verified.code == 0 else ("runs", lab.random.choice(TABLES[1:])):
            result = lab.show(file, table)
            if result.code != 0:
                lab.require_sentence(result)
                refused = True
                if verified.code == 0:
                    lab.account.blame("lost", f"{how.__name__} {index}: verify lets pass what show {table} refuses: {result}")
            elif result.out != shown[table]:
                kept = pathlib.Path(tempfile.gettempdir()) / f"tilescope-damaged-{index}.tscope"
                kept.write_bytes(damaged)
                lab.account.blame("lost", f"{how.__name__} {index}: show {table} prints another table and no word; see {kept}")
        reported["refused" if refused else "harmless"] += 1
        for beside in file.parent.glob(file.name + "-*"):
            beside.unlink()
        lab.account.count("damaged")
    # Damage in unused pages is harmless. If all damage were harmless, this would test nothing.
    lab.account.note("damage_refused", reported["refused"])
    lab.account.note("damage_harmless", reported["harmless"])
    if reported["refused"] < count // 2:
        lab.account.blame("lost", f"only {reported['refused']} of {count} damaged files were noticed")
