/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks what libheddle.so exports; everything else in it is hidden.
 */
#ifndef HEDDLE_EXPORT_H
#define HEDDLE_EXPORT_H

#define HEDDLE_API __attribute__((visibility("default")))
#define HEDDLE_LOCAL __attribute__((visibility("hidden")))

#endif /* HEDDLE_EXPORT_H */
