/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An emulated GPU: a libcuda.so.1 for tests, which a process finds through LD_LIBRARY_PATH. Its
 * memory is host memory that the host cannot access; its kernels are functions of an ELF library.
 * It is as strict as the driver's manual: work of a stream is done when the host waits for it and
 * not earlier, pinned memory is read and written at that time, arguments are checked, and resources
 * that are not released at the end of the process are reported, with exit code 1.
 *
 * Environment: HEDDLE_EMULATOR_JOURNAL names a file that gets a line per call; HEDDLE_EMULATOR_FAIL
 * is FUNCTION:N or FUNCTION:N:CODE, and fails the N-th call of a function; _GPUS, _CAPABILITY (90),
 * _VERSION (13000) and _MEMORY (bytes) are properties that the driver reports; _SEED changes the
 * order in which threads of a block run and copies to shared memory land. _CHECKED is N: of the
 * launches of a kernel with as many blocks, the first four and every N-th one are checked for races
 * (all by default).
 *
 * Tests in the same process look up these functions:
 */
#ifndef HEDDLE_TESTS_EMULATOR_EMULATOR_H
#define HEDDLE_TESTS_EMULATOR_EMULATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the n-th call of a function from now on fail with a code; NULL cancels that.
 * heddle_emulator_has_failed() returns whether the call has failed. */
typedef void HeddleEmulatorFail(const char *function, long n, int code);
HeddleEmulatorFail heddle_emulator_fail;
typedef int HeddleEmulatorHasFailed(void);
HeddleEmulatorHasFailed heddle_emulator_has_failed;

/* Starts a journal in memory; copies as much of it as fits into `text`. */
typedef void HeddleEmulatorRecord(void);
HeddleEmulatorRecord heddle_emulator_record;
typedef size_t HeddleEmulatorJournal(char *text, size_t size);
HeddleEmulatorJournal heddle_emulator_journal;

/* Returns the number of kernels that the GPU has executed, and had when a graph was last launched.
 */
typedef struct HeddleExecuted {
  unsigned long long kernels;
  unsigned long long beforeGraph;
} HeddleExecuted;
typedef HeddleExecuted HeddleEmulatorExecuted(void);
HeddleEmulatorExecuted heddle_emulator_executed;

/* Lists the resources that were not released, one line per kind; 0 if there are none. */
typedef size_t HeddleEmulatorLeaks(char *text, size_t size);
HeddleEmulatorLeaks heddle_emulator_leaks;

/* Returns the number of passes that counted accesses to shared memory have taken since the last
 * call, and the number without bank conflicts. From now on, accesses are counted if `isWanted`. */
typedef struct HeddleBankUses {
  unsigned long long passes;
  unsigned long long least;
} HeddleBankUses;
typedef HeddleBankUses HeddleEmulatorBanks(int isWanted);
HeddleEmulatorBanks heddle_emulator_banks;

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_TESTS_EMULATOR_EMULATOR_H */
