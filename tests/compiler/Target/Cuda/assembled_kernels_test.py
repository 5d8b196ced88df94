# SPDX-License-Identifier: Apache-2.0
"""What assembled_kernels.py judges, without ptxas: how it reads PTX and what ptxas prints."""

import unittest

import assembled_kernels
from assembled_kernels import Allowance, Kernel, kernels_of, problems, said_of

PTX = """//
.version 8.0
.target sm_90a
.address_size 64

	// .globl	product
.extern .shared .align 16 .b8 product$shared[];

.visible .entry product(
	.param .u64 product_param_0
)
.reqntid 384
{
	// begin inline asm
{
.reg .pred adds;
}
	// end inline asm
	ret;

}

	// .globl	product$$merge
.func product$$merge$$sm_90a$body(
	.param .b64 product$$merge_param_0
)
{
	ret;

}
.visible .entry product$$merge(
	.param .u64 product$$merge_param_0
)
.reqntid 128
.minnctapersm 8
{
	ret;

}
"""
SAID = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'product$$merge' for 'sm_90a'
ptxas info    : Function properties for product$$merge
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers
ptxas info    : Compile time = 38.853 ms
ptxas info    : Compiling entry function 'product' for 'sm_90a'
ptxas info    : Function properties for product
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers
"""
SERIAL = ("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
          "insufficient register resources for the wgmma pipeline in function 'product'\n")


class AssembledKernels(unittest.TestCase):
    def setUp(self):
        self.product, self.merge = kernels_of("sm_90a", PTX, {"product": (384, 43776)})
        self.said = said_of(["product", "product$$merge"], SAID + SERIAL)
        assembled_kernels.ALLOWED[:] = []

    def test_kernels_are_split(self):
        self.assertEqual((self.product.name, self.merge.name), ("product", "product$$merge"))
        self.assertEqual((self.product.launch, self.merge.launch), ((384, 43776), None))
        self.assertIn("end inline asm", self.product.text)
        self.assertNotIn("$$merge", self.product.text)
        self.assertIn(".func product$$merge$$sm_90a$body", self.merge.text)

    def test_warnings_are_of_their_kernel(self):
        self.assertIn("C7510", problems(self.product, self.said["product"], set())[0])
        self.assertNotIn("C7510", self.said["product$$merge"])
        clean = self.said["product"].replace(SERIAL, "")
        self.assertEqual(problems(self.product, clean, set()), [])
        self.assertEqual(problems(self.product, clean + "ptxas warning : odd\n", set()),
                         ["ptxas says: ptxas warning : odd"])

    def test_spills_need_an_allowance(self):
        found = ["8 bytes of stack, 4 stored, 12 loaded"]
        self.assertEqual(problems(self.merge, self.said["product$$merge"], set()), found)
        for loads, expected in ((12, []), (11, found)):
            allowed = Allowance("sm_90a", r"product.*", "ret", 8, 4, loads, "none")
            assembled_kernels.ALLOWED[:] = [allowed]
            needed = set()
            self.assertEqual(problems(self.merge, self.said["product$$merge"], needed), expected)
            self.assertEqual(needed, {allowed})
        assembled_kernels.ALLOWED[:] = [allowed._replace(instruction="wgmma")]
        self.assertEqual(problems(self.merge, self.said["product$$merge"], set()), found)

    def test_limits(self):
        def of(registers, threads=384, shared=0, launched=None, static=0):
            said = (f"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                    f"ptxas info : Used {registers} registers, used 1 barriers, {static} bytes smem\n")
            kernel = Kernel("sm_80", "product", f"\n.reqntid {threads}\n", (launched or threads, shared))
            return problems(kernel, said.replace("0 bytes stack", "    0 bytes stack", 1), set())

        self.assertEqual(of(168), [])
        self.assertEqual(of(169), ["169 registers of 384 threads in 1 blocks"])
        self.assertEqual(of(64, shared=163 * 1024), [])
        self.assertEqual(of(64, shared=163 * 1024 - 15, static=16), ["16 + 166897 bytes of shared memory"])
        self.assertEqual(of(64, static=49153), ["49153 bytes of static shared memory"])
        self.assertEqual(of(64, launched=128), ["is launched with 128 threads, and wants 384"])


if __name__ == "__main__":
    unittest.main()
