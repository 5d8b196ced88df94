/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks the symbols that libheddle.so exports; all others are hidden.
 */
#ifndef HEDDLE_EXPORT_H
#define HEDDLE_EXPORT_H

#define HEDDLE_API __attribute__((visibility("default")))
#define HEDDLE_LOCAL __attribute__((visibility("hidden")))

#endif /* HEDDLE_EXPORT_H */
