// SPDX-License-Identifier: Apache-2.0
/// All definitions of the model level, for the generators.
include "dialects/Transformer/CacheOps.td"
include "dialects/Transformer/ChoiceOps.td"
include "dialects/Transformer/FusedOps.td"
include "dialects/Transformer/HeadOps.td"
include "dialects/Transformer/RecurrenceOps.td"
include "dialects/Transformer/RowOps.td"
include "dialects/Transformer/StateOps.td"
include "dialects/Transformer/WindowOps.td"
