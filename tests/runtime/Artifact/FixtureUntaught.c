/* SPDX-License-Identifier: Apache-2.0 */
/* An entry that needs an operation of the GPU which the emulated one does not have. */
#include "heddle/Abi.h"

void heddle_emulated_untaught(void);

void gather(const HeddleDeviceLaunch *launch) { heddle_emulated_untaught(); }
