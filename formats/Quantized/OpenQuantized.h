// SPDX-License-Identifier: Apache-2.0
///
/// Opens the weights of a model's folder, whose config.json may say that they are quantised
/// ("quantization_config"): the tensors then have their names in the model, "layer.weight", and
/// codes.
#ifndef HEDDLE_FORMATS_QUANTIZED_OPENQUANTIZED_H
#define HEDDLE_FORMATS_QUANTIZED_OPENQUANTIZED_H

#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include <string>

namespace heddle {

class Config;

/// As Checkpoint::open() of a folder, with what its config.json says of quantised weights, if it
/// has one that does. Unsupported: a "quantization_config" that is not understood.
Result<Checkpoint> openFolderWeights(const std::string &folder);

/// The same for a checkpoint and a configuration that are open.
Result<Checkpoint> withQuantization(Checkpoint checkpoint, const Config &config);

} // namespace heddle

#endif // HEDDLE_FORMATS_QUANTIZED_OPENQUANTIZED_H
