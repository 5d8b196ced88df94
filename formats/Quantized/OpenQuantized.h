// SPDX-License-Identifier: Apache-2.0
///
/// Opens the weights of a model's folder, whose config.json may declare them as quantised
/// ("quantization_config"): the tensors then have their names in the model, "layer.weight", and
/// codes.
#ifndef HEDDLE_FORMATS_QUANTIZED_OPENQUANTIZED_H
#define HEDDLE_FORMATS_QUANTIZED_OPENQUANTIZED_H

#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include <string>

namespace heddle {

class Config;

/// As Checkpoint::open() for a folder, applying the description of quantised weights in its
/// config.json, if there is one. Unsupported for an unknown "quantization_config".
Result<Checkpoint> openFolderWeights(const std::string &folder);

/// As openFolderWeights(), for an open checkpoint and configuration.
Result<Checkpoint> withQuantization(Checkpoint checkpoint, const Config &config);

} // namespace heddle

#endif // HEDDLE_FORMATS_QUANTIZED_OPENQUANTIZED_H
