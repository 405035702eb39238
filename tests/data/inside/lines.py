"""Lists the source lines of a cubin's instructions as nvdisasm -gi tells them: kernel, offset, line, and the line of the
kernel at which the function of that line is inlined (0: it is not)."""
import re, subprocess, sys

nvdisasm, cubin = sys.argv[1:]
kernel, lines, begins = None, [], True
for text in subprocess.run([nvdisasm, "-c", "-gi", cubin], capture_output=True, text=True, check=True).stdout.splitlines():
    if section := re.match(r"\s*\.section\s+\.text\.([^,]+),", text):
        kernel, lines = section[1], []
    elif place := re.match(r'\s*//## File "[^"]*", line (\d+)', text):
        # The first of a row is the instruction's own; the last is the kernel's.
        lines = [int(place[1])] if begins else lines + [int(place[1])]
        begins = False
    elif instruction := re.match(r"\s*/\*([0-9a-f]{4,})\*/", text):
        begins = True
        print(kernel, int(instruction[1], 16), lines[0] if lines else 0, lines[-1] if len(lines) > 1 else 0)
