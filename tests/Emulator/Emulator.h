/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU that is not there: a libcuda.so.1 for tests, which a process finds by LD_LIBRARY_PATH. Its
 * memory is the host's, which the host cannot touch; its kernels are functions of an ELF library.
 * It is as strict as the driver's manual: work of a stream is done when somebody waits for it and
 * not before, pinned memory is read and written then, arguments are checked, and what is not given
 * back at the end of the process is reported, with exit code 1.
 *
 * Environment: HEDDLE_EMULATOR_JOURNAL names a file for a line a call; HEDDLE_EMULATOR_FAIL is
 * FUNCTION:N or FUNCTION:N:CODE, to fail the N-th call of a function; _GPUS, _CAPABILITY (90),
 * _VERSION (13000) and _MEMORY (bytes) are what the driver says; _SEED changes the order in which
 * threads of a block run and copies to shared memory land.
 *
 * For tests in the same process, which look these functions up:
 */
#ifndef HEDDLE_TESTS_EMULATOR_EMULATOR_H
#define HEDDLE_TESTS_EMULATOR_EMULATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the n-th call from now on of a function fail with a code; NULL: none fails any more.
 * Whether it has failed, and how often it was called since. */
typedef void HeddleEmulatorFail(const char *function, long n, int code);
HeddleEmulatorFail heddle_emulator_fail;
typedef int HeddleEmulatorHasFailed(void);
HeddleEmulatorHasFailed heddle_emulator_has_failed;

/* Begins a journal in memory; takes what it has, as long as it fits. */
typedef void HeddleEmulatorRecord(void);
HeddleEmulatorRecord heddle_emulator_record;
typedef size_t HeddleEmulatorJournal(char *text, size_t size);
HeddleEmulatorJournal heddle_emulator_journal;

/* What is not given back, one line a kind; 0 if all is. */
typedef size_t HeddleEmulatorLeaks(char *text, size_t size);
HeddleEmulatorLeaks heddle_emulator_leaks;

/* How often warps have used the banks of shared memory since the last call, the first of which
 * begins to count; and how often they had to if no two lanes of an access wanted different words of
 * one bank. */
typedef struct HeddleBankUses {
  unsigned long long passes;
  unsigned long long least;
} HeddleBankUses;
typedef HeddleBankUses HeddleEmulatorBanks(void);
HeddleEmulatorBanks heddle_emulator_banks;

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_TESTS_EMULATOR_EMULATOR_H */
