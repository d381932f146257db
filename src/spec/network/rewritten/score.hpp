// A recorded network with a head that gives scores in place of logits.
#pragma once

#include <cstdint>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// transformers modeling_layers.py GenericForSequenceClassification, `of_tokens`: GenericForTokenClassification, whose
/// head has a bias. Only what is in front of the head is run by the recording. Throws Error (unsupported) for networks
/// whose layers are in no module of their own.
Document with_score(const Document& recording, std::int64_t labels, bool of_tokens);

/// Whether transformers' class that classifies sequences is GenericForSequenceClassification.
bool scores_sequences(const Document& recording);
/// Networks with towers, of which the class asks the whole's configuration for a pad_token_id that the text part's has;
/// trl gives it one.
bool has_padding_in_text_config(const Document& recording);
/// Whether transformers' class that classifies tokens is GenericForTokenClassification.
bool scores_tokens(const Document& recording);

}  // namespace vramfit::network
