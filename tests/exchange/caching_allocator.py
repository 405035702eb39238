"""A caching allocator as PyTorch's is (c10/cuda/CUDACachingAllocator.cpp), on made-up addresses: it decides, counts and tells as
that one does, so that snapshots of it can be checked against what it counted."""
import random

MIB = 1 << 20
SMALLEST = 512
SMALL_SIZE = MIB          # larger blocks come from segments for large ones
SMALL_BUFFER = 2 * MIB    # also the page of an expandable segment for small blocks
LARGE_BUFFER = 20 * MIB   # the same for large blocks
SOURCES = [[], [("forward", "/w/site-packages/torch/nn/modules/linear.py", 134), ("<module>", "train.py", 7)],
           [("step", "/w/site-packages/torch/optim/adamw.py", 97), ("<module>", "train.py", 9)]]


class Block:
    def __init__(self, address, size, small, stream, expandable=False, mapped=True):
        self.address, self.size, self.small, self.stream = address, size, small, stream
        self.expandable, self.mapped = expandable, mapped
        self.requested, self.state, self.frames = 0, "inactive", []
        self.before = self.after = None


class CachingAllocator:
    def __init__(self, expandable=False, max_split=None, divisions=0, skip=()):
        self.expandable, self.max_split, self.divisions, self.skip = expandable, max_split or 1 << 62, divisions, set(skip)
        self.free, self.heads, self.events, self.history = [], [], [], []
        self.next_address, self.now, self.allocated, self.reserved, self.active = 0x7F00_0000_0000, 0, 0, 0, 0

    # PyTorch's rules.
    def rounded(self, size):
        if size < SMALLEST:
            return SMALLEST
        if self.divisions and size > SMALLEST * self.divisions:
            floor = 1 << (size.bit_length() - 1)
            part = max(1, floor >> (self.divisions.bit_length() - 1))
            return size if size == floor else -(-size // part) * part
        return -(-size // SMALLEST) * SMALLEST

    def splits(self, block, size):
        rest = block.size - size
        return rest >= SMALLEST if block.small or self.expandable else size < self.max_split and rest > SMALL_SIZE

    def fits(self, block, size, small, stream):
        if not (block.mapped and block.small == small and block.stream == stream and block.size >= size):
            return False
        if block.expandable != self.expandable:
            return False
        return not (size < self.max_split <= block.size or (size >= self.max_split and block.size >= size + LARGE_BUFFER))

    # Public methods.
    def malloc(self, requested, stream=0, frames=()):
        size, frames = self.rounded(requested), list(frames)
        small = size <= SMALL_SIZE
        fitting = [block for block in self.free if self.fits(block, size, small, stream)]
        if fitting:
            block = min(fitting, key=lambda one: (one.size, one.address))
        else:
            block = self.grow(size, small, stream, frames) if self.expandable else self.segment(size, small, stream, frames)
        self.free.remove(block)
        if self.splits(block, size):
            rest = self.insert(block, Block(block.address + size, block.size - size, small, stream, block.expandable))
            block.size = size
            self.free.append(rest)
        block.state, block.requested, block.frames = "active_allocated", requested, frames
        self.allocated += requested
        self.active += block.size
        self.tell("alloc", block.address, requested, stream, frames)
        return block

    def release(self, block, completes=True):
        """Frees a block; the free stays pending while a stream uses the block."""
        block.state = "active_pending_free"
        self.allocated -= block.requested
        self.tell("free_requested", block.address, block.requested, block.stream, block.frames)
        if completes:
            self.complete(block)

    def complete(self, block):
        self.tell("free_completed", block.address, block.requested, block.stream, block.frames)
        self.active -= block.size
        block.state, block.frames = "inactive", []
        self.free.append(block)
        self.merge(block)
        self.merge(block.before)

    def empty_cache(self):
        for block in list(self.free):
            if block not in self.free:
                continue
            if block.expandable:
                self.unmap(block)
            elif block.before is None and block.after is None:
                self.free.remove(block)
                self.heads.remove(block)
                self.reserved -= block.size
                self.tell("segment_free", block.address, block.size, block.stream, [])

    def out_of_memory(self, size, left):
        self.tell("oom", left, size, 0, SOURCES[1])

    # Implementation.
    def segment(self, size, small, stream, frames):
        taken = SMALL_BUFFER if small else LARGE_BUFFER if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        block = Block(self.next_address, taken, small, stream)
        self.next_address += taken  # segments touch: they stay two
        self.heads.append(block)
        self.free.append(block)
        self.reserved += taken
        self.tell("segment_alloc", block.address, taken, stream, frames)
        return block

    def grow(self, size, small, stream, frames):
        page = SMALL_BUFFER if small else LARGE_BUFFER
        unmapped = [block for head in self.heads for block in self.chain(head)
                    if not block.mapped and (block.small, block.stream) == (small, stream)]
        for block in sorted(unmapped, key=lambda one: one.address):
            start = block.before if block.before is not None and block.before.state == "inactive" else block
            room, one = 0, start
            while one is not None and one.state == "inactive" and room < size:
                room, one = room + one.size, one.after
            if room >= size:
                break
        else:
            start = Block(self.next_address, 64 * LARGE_BUFFER, small, stream, expandable=True, mapped=False)
            self.next_address += start.size + SMALL_BUFFER
            self.heads.append(start)
        while not start.mapped or start.size < size:
            to_map = start if not start.mapped else start.after
            wanted = size - (start.size if start.mapped else 0)
            taken = min(to_map.size, -(-min(wanted, to_map.size) // page) * page)
            if taken < to_map.size:
                self.insert(to_map, Block(to_map.address + taken, to_map.size - taken, small, stream, True, mapped=False))
                to_map.size = taken
            to_map.mapped = True
            self.reserved += taken
            self.free.append(to_map)
            address = to_map.address
            start = self.merge(to_map) or to_map
            start = self.merge(start.before) or start
            self.tell("segment_map", address, taken, stream, frames)
        return start

    def unmap(self, block):
        page = SMALL_BUFFER if block.small else LARGE_BUFFER
        head = block
        while head.before is not None:
            head = head.before
        first = head.address + -(-(block.address - head.address) // page) * page
        last = head.address + (block.address + block.size - head.address) // page * page
        if last <= first:
            return
        if last < block.address + block.size:
            self.free.append(self.insert(block, Block(last, block.address + block.size - last, block.small, block.stream, True)))
            block.size = last - block.address
        if first > block.address:
            middle = self.insert(block, Block(first, block.size - (first - block.address), block.small, block.stream, True))
            block.size = first - block.address
            block = middle
        else:
            self.free.remove(block)
        block.mapped = False
        self.reserved -= block.size
        self.tell("segment_unmap", block.address, block.size, block.stream, [])
        self.merge(block)
        self.merge(block.before)

    def merge(self, block):
        """Merges a block with the next one if both are free."""
        after = block.after if block is not None else None
        if after is None or block.state != "inactive" or after.state != "inactive" or block.mapped != after.mapped:
            return None
        block.size += after.size
        block.after = after.after
        if after.after is not None:
            after.after.before = block
        if after.mapped:
            self.free.remove(after)
        return block

    @staticmethod
    def insert(block, behind):
        behind.before, behind.after = block, block.after
        if block.after is not None:
            block.after.before = behind
        block.after = behind
        return behind

    @staticmethod
    def chain(head):
        while head is not None:
            yield head
            head = head.after

    def tell(self, action, address, size, stream, frames):
        self.now += 1
        if action not in self.skip:
            self.events.append({"action": action, "addr": address, "size": size, "stream": stream, "time": self.now, "frames": frames})
            # The alloc event comes last, when the state is complete.
            self.history.append((action, self.allocated, self.reserved, self.use() if action == "alloc" else None))

    def segments(self):
        """Each contiguous range of mapped blocks, as snapshot() gives them."""
        found = []
        for head in self.heads:
            one = []
            for block in self.chain(head):
                if block.mapped:
                    one.append(block)
                elif one:
                    found.append(one)
                    one = []
            if one:
                found.append(one)
        return sorted(found, key=lambda blocks: blocks[0].address)

    def use(self):
        """Bytes by use, as in SegmentUse."""
        requested = rounding = in_use = back = 0
        for blocks in self.segments():
            busy = any(block.state != "inactive" for block in blocks)
            for block in blocks:
                if block.state == "active_allocated":
                    requested += block.requested
                    rounding += block.size - block.requested
                elif block.state == "active_pending_free":
                    in_use += block.size
                elif block.expandable:
                    page = SMALL_BUFFER if block.small else LARGE_BUFFER
                    at = block.address - blocks[0].address
                    whole = max(0, (at + block.size) // page - -(-at // page)) * page
                    back += whole
                    in_use += block.size - whole
                elif busy:
                    in_use += block.size
                else:
                    back += block.size
        return {"requested": requested, "fragmentation": rounding + in_use, "reserved_free": back}


def exercise(allocator, seed, steps, late=0.1):
    """Random blocks of all sizes on two streams; some are freed late, and the cache is emptied occasionally."""
    dice = random.Random(seed)
    live, pending = [], []
    for _ in range(steps):
        chance = dice.random()
        if chance < 0.02:
            allocator.empty_cache()
        elif chance < 0.06 and pending:
            allocator.complete(pending.pop(dice.randrange(len(pending))))
        elif live and (chance < 0.48 or len(live) > 60):
            block = live.pop(dice.randrange(len(live)))
            waits = dice.random() < late
            allocator.release(block, completes=not waits)
            if waits:
                pending.append(block)
        else:
            size = int(2 ** dice.uniform(0, 25.5))
            live.append(allocator.malloc(size, dice.choice([0, 0, 0x5A5A_0000_1000]), dice.choice(SOURCES)))
    return live
