# SPDX-License-Identifier: Apache-2.0
"""Whether an element of a product on Hopper's tensor cores has the same bits wherever it is.

wgmma multiplies 64 rows by 8 to 256 columns. No manual says that the bits of a sum do not depend on that width, on the
row, the column, or what is beside it. Kernels whose tiles follow from the number of rows rest on it: products, whose
rows are in shared memory, and attention, whose second product has them in registers.
The PTX is written here; the driver is called as runtime/Device/Cuda does, by name.
"""

import ctypes
import random
import struct

ROWS, STEPS, WIDTHS = 64, 64, (8, 16, 24, 48, 64, 128, 192, 256)
# Where the rows are: the names of kernels, and what they have instead of the rows' descriptor.
PLACES = ("memory", "registers")
# Rows and columns are moved by so many places.
MOVES = (1, 8, 100)
THREADS, LOAD_BYTES = 128, 16
# Eight rows of 16 bytes lie together; those beside them along k as far apart as there are rows.
CORE_ROWS, CORE_BYTES, CORE_STEPS = 8, 128, 8


def core_stride(rows):
    return rows // CORE_ROWS * CORE_BYTES


def entry(width, place):
    """A kernel that multiplies `width` columns by rows in a place: bytes of both operands as they lie in shared memory,
    then registers one after the other, each of all threads."""
    count = width // 2
    sums = ", ".join(f"%sum{i}" for i in range(count))
    bytes_of_rows, bytes_of_columns = 2 * ROWS * STEPS, 2 * width * STEPS

    def copy(name, begin, size):
        return f"""
  mov.u32 %at, %place;
copy_{name}:
  setp.ge.u32 %done, %at, {size};
  @%done bra copied_{name};
  cvt.u64.u32 %wide, %at;
  add.u64 %from, %{name}, %wide;
  ld.global.v4.u32 {{%w0, %w1, %w2, %w3}}, [%from];
  add.u32 %to, %base, %at;
  st.shared.v4.u32 [%to + {begin}], {{%w0, %w1, %w2, %w3}};
  add.u32 %at, %at, {THREADS * LOAD_BYTES};
  bra copy_{name};
copied_{name}:"""

    def descriptor(name, begin, rows, step):
        # The place, then the distances along k and along rows, all in 16 bytes.
        place = begin + step * 16 // CORE_STEPS * core_stride(rows)
        distances = core_stride(rows) // 16 << 16 | CORE_BYTES // 16 << 32
        return f"""
  add.u32 %to, %base, {place};
  and.b32 %to, %to, 0x3FFFF;
  shr.u32 %to, %to, 4;
  cvt.u64.u32 %{name}, %to;
  or.b64 %{name}, %{name}, {distances};"""

    def word(step, number):
        """Loads a word of the rows: of row lane / 4 of the warp, or of the one eight rows below, two steps from
        lane % 4 * 2 on, or those eight steps further."""
        begin = (step * 2 + number // 2) * core_stride(ROWS) + number % 2 * CORE_BYTES
        return f"""
  ld.shared.b32 %a{4 * step + number}, [%own + {begin}];"""

    def product(step):
        words = ", ".join(f"%a{4 * step + number}" for number in range(4))
        left, last = ("%left", "0, 0") if place == "memory" else (f"{{{words}}}", "0")
        return (descriptor("left", 0, ROWS, step) + descriptor("right", bytes_of_rows, width, step) + f"""
  wgmma.mma_async.sync.aligned.m64n{width}k16.f32.bf16.bf16 {{{sums}}}, {left}, %right, 1, 1, 1, {last};""")

    steps = range(STEPS // 16)
    products = "".join(map(product, steps))
    words = "".join(word(step, number) for step in steps for number in range(4)) if place == "registers" else ""
    zeros = "".join(f"\n  mov.f32 %sum{i}, 0f00000000;" for i in range(count))
    stores = "".join(f"\n  st.global.f32 [%result + {4 * THREADS * i}], %sum{i};" for i in range(count))
    return f"""
.visible .entry {place}_{width}(.param .u64 rows, .param .u64 columns, .param .u64 result)
.reqntid {THREADS}
{{
  .reg .pred %done;
  .reg .b32 %thread, %place, %base, %at, %to, %own, %w<4>, %a<{STEPS // 4}>;
  .reg .b64 %rows, %columns, %result, %from, %wide, %left, %right;
  .reg .f32 %sum<{count}>;
  ld.param.u64 %rows, [rows];
  ld.param.u64 %columns, [columns];
  ld.param.u64 %result, [result];
  mov.u32 %thread, %tid.x;
  mul.lo.u32 %place, %thread, {LOAD_BYTES};
  mov.u32 %base, operands;{copy("rows", 0, bytes_of_rows)}{copy("columns", bytes_of_rows, bytes_of_columns)}{zeros}
  fence.proxy.async;
  bar.sync 0;
  // Of a warp's 16 rows, each eight are side by side: a word of each lane.
  shr.u32 %to, %thread, 5;
  and.b32 %own, %thread, 31;
  shl.b32 %to, %to, 8;
  shl.b32 %own, %own, 2;
  add.u32 %own, %own, %to;
  add.u32 %own, %own, %base;{words}
  wgmma.fence.sync.aligned;{products}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %wide, %thread, 4;
  add.u64 %result, %result, %wide;{stores}
  ret;
}}"""


def ptx():
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 operands[];"
    return head + "".join(entry(width, place) for width in WIDTHS for place in PLACES) + "\n"


def rounded(value):
    """The bits of bf16 nearest to a number that is not large."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def value_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def packed(matrix):
    """The bytes of rows of bits as the instruction finds them in shared memory."""
    data = bytearray(2 * len(matrix) * STEPS)
    for row, elements in enumerate(matrix):
        for k, bits in enumerate(elements):
            place = (k // CORE_STEPS * core_stride(len(matrix)) + row // CORE_ROWS * CORE_BYTES +
                     row % CORE_ROWS * 16 + k % CORE_STEPS * 2)
            struct.pack_into("<H", data, place, bits)
    return bytes(data)


def unpacked(words, width):
    """The sums of each row and column, as bits, from the registers of all threads."""
    matrix = [[0] * width for _ in range(ROWS)]
    for register in range(width // 2):
        for thread in range(THREADS):
            warp, lane = divmod(thread, 32)
            row = warp * 16 + lane // 4 + register % 4 // 2 * 8
            column = register // 4 * 8 + lane % 4 * 2 + register % 2
            matrix[row][column] = words[register * THREADS + thread]
    return matrix


class Driver:
    """The driver, with a context and the module of the kernels while it is entered."""

    def __enter__(self):
        self.library, self.module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxPushCurrent_v2", context)
        try:
            text = ctypes.create_string_buffer(ptx().encode())
            self.call("cuModuleLoadDataEx", ctypes.byref(self.module), text, 0, None, None)
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.module:
            self.call("cuModuleUnload", self.module)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", 0)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} fails with {code}")

    def memory(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def multiply(self, rows, columns, place):
        """Bits of the product of the matrices of bf16, the second transposed; rows are in a place."""
        width, function = len(columns), ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module,
                  f"{place}_{width}".encode())
        operands = [packed(rows), packed(columns)]
        shared = sum(map(len, operands))
        self.call("cuFuncSetAttribute", function, 8, shared)
        result = bytearray(4 * ROWS * width)
        addresses = [self.memory(len(each)) for each in [*operands, result]]
        for address, data in zip(addresses, operands):
            self.call("cuMemcpyHtoDAsync_v2", address, data, ctypes.c_size_t(len(data)), None)
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in addresses))
        self.call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, shared, None, pointers, None)
        back = (ctypes.c_char * len(result)).from_buffer(result)
        self.call("cuMemcpyDtoHAsync_v2", back, addresses[2], ctypes.c_size_t(len(result)), None)
        self.call("cuStreamSynchronize", None)
        for address in addresses:
            self.call("cuMemFree_v2", address)
        return unpacked(struct.unpack(f"<{ROWS * width}I", result), width)


def is_product(bits, rows, columns):
    """Whether some of the numbers are those of the product."""
    for row in range(0, ROWS, 7):
        for column in range(0, len(columns), 5):
            terms = [value_of(a) * value_of(b) for a, b in zip(rows[row], columns[column])]
            found = struct.unpack("<f", struct.pack("<I", bits[row][column]))[0]
            if not abs(found - sum(terms)) <= 1e-5 * sum(map(abs, terms)):
                return False
    return True


def moved(matrix, places):
    places %= len(matrix)
    return matrix[-places:] + matrix[:-places]


def check(driver):
    """What is wrong; nothing if bits depend on the row and the column alone."""
    generator = random.Random(7)
    rows, columns = ([[rounded(generator.gauss(0, 1)) for _ in range(STEPS)] for _ in range(count)]
                     for count in (ROWS, WIDTHS[-1]))
    return check_rows(driver, rows, columns, "memory") or check_rows(driver, rows, columns, "registers")


def check_rows(driver, rows, columns, place):
    """The same for rows in a place."""
    whole, where = driver.multiply(rows, columns, place), f"with rows in {place}, "
    if not is_product(whole, rows, columns):
        return where + "numbers are not those of the product"
    for width in WIDTHS:
        part = driver.multiply(rows, columns[:width], place)
        if part != [row[:width] for row in whole]:
            return where + f"bits depend on the width, {width} or {WIDTHS[-1]} columns"
    for places in MOVES:
        if driver.multiply(rows, moved(columns, places), place) != [moved(row, places) for row in whole]:
            return where + f"bits depend on the column, or on {places} places"
        if driver.multiply(moved(rows, places), columns, place) != moved(whole, places):
            return where + f"bits depend on the row, or on {places} places"
    return ""


def line():
    """What is known, and whether it is wrong."""
    try:
        with Driver() as driver:
            wrong = check(driver)
    except (OSError, AttributeError) as error:
        return f"wgmma: not checked, {error}", False
    return (f"wgmma: {wrong}", True) if wrong else (
        f"wgmma: same bits for {WIDTHS[0]} to {WIDTHS[-1]} columns, at any place", False)
