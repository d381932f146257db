// Readers from text to values: YAML, JSON, shell lines, Python calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainers/value.hpp"

namespace vramfit::trainers {

enum class Syntax : std::uint8_t { yaml, json, shell, python, notebook };

/// Something odd that the trainers accept, worth a note.
struct Remark {
    std::string key;
    Place place;
    std::string text;
};

/// One file, or one command of a shell script.
struct Document {
    std::string file;
    Syntax syntax = Syntax::yaml;
    std::string program;   ///< shell: what is run: "trl sft", "train.py"; python: empty
    std::string launcher;  ///< shell: "python", "accelerate launch", "torchrun"
    Value root;            ///< a map
    std::vector<Remark> remarks;

    FilePlace place(Place at) const { return {file, at}; }
};

/// Which syntax a file has, by its content; its name's ending decides where both could be.
Syntax syntax_of(std::string_view text, std::string_view file);

/// Each throws Error (invalid) with the place of what is wrong.
Document read_yaml(std::string_view text, const std::string& file);
Document read_json(std::string_view text, const std::string& file);
/// The commands of a script that train something: one document for each launcher's own arguments, one for the program.
std::vector<Document> read_shell(std::string_view text, const std::string& file);
/// What a script sets up for its trainer: the arguments of its configuration at the root, those of other calls under
/// their names. Values that the script asks of the card are answered by whether that computes in bfloat16.
Document read_python(std::string_view text, const std::string& file, bool bf16_card = true);
/// The cells of a notebook as one script.
Document read_notebook(std::string_view text, const std::string& file, bool bf16_card = true);

/// Throws Error (invalid) if the text is too long, holds bytes that no text has, or is no UTF-8.
void check_text(std::string_view text, const std::string& file);

}  // namespace vramfit::trainers
