// YAML through yaml-cpp's events: anchors, merges and duplicates as PyYAML treats them, with limits.
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "trainers/read_text.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

class YamlBuilder : public YAML::EventHandler {
  public:
    explicit YamlBuilder(Document& out) : out_(out) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        Value value;
        value.place = place(mark);
        finish(std::move(value), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) fail(place(mark), "an alias stands inside of its own anchor", "name another");
        values_ += found->second.size;
        Value value = found->second.value;
        value.place = place(mark);
        finish(std::move(value), 0);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        const Place at = place(mark);
        refuse_tag(tag, at);
        const bool is_key = !frames_.empty() && frames_.back().wants_key;
        const bool plain = tag == "?" && !is_key;
        finish(plain ? plain_scalar(text, out_.place(at)) : Value::of_text(text, at), anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse_tag(tag, place(mark));
        open(Value::list(place(mark)), anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse_tag(tag, place(mark));
        open(Value::map(place(mark)), anchor);
        frames_.back().wants_key = true;
    }
    void OnMapEnd() override { close(); }

  private:
    struct Frame {
        Value value;
        YAML::anchor_t anchor = 0;
        std::size_t values_before = 0;
        bool wants_key = false;
        std::string key;
        Place key_place;
        std::vector<Value> merged;
    };
    struct Anchored {
        Value value;
        std::size_t size = 1;
    };

    static Place place(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

    [[noreturn]] void fail(Place at, std::string what, std::string hint) const {
        throw Error(ErrorKind::invalid, text_of(out_.place(at)), std::move(what), std::move(hint));
    }

    void refuse_tag(const std::string& tag, Place at) const {
        if (tag.empty() || tag == "?" || tag == "!") return;
        fail(at, fmt::format("the tag '{}' is not read", tag), "write the value without it");
    }

    void count(Place at) {
        if (++values_ > kMostValues)
            fail(at, fmt::format("more than {} values once aliases are written out", kMostValues), "a smaller file");
    }

    void open(Value value, YAML::anchor_t anchor) {
        if (static_cast<int>(frames_.size()) >= kDeepest)
            fail(value.place, fmt::format("nested more than {} times", kDeepest), "a flatter file");
        if (!frames_.empty() && frames_.back().wants_key)
            fail(value.place, "a list or a map cannot be a key", "write a name");
        frames_.push_back({std::move(value), anchor, values_, false, {}, {}, {}});
    }

    // Keys of the map itself go before those that "<<" brings (PyYAML, constructor.py, flatten_mapping).
    void close() {
        Frame frame = std::move(frames_.back());
        frames_.pop_back();
        for (Value& from : frame.merged) {
            for (std::size_t i = 0; i < from.keys.size(); ++i)
                if (!frame.value.find(from.keys[i]))
                    frame.value.add(from.keys[i], from.key_places[i], std::move(from.items[i]));
        }
        finish(std::move(frame.value), frame.anchor, frame.values_before);
    }

    void finish(Value value, YAML::anchor_t anchor) { finish(std::move(value), anchor, values_); }

    void finish(Value value, YAML::anchor_t anchor, std::size_t before) {
        count(value.place);
        if (anchor) anchors_[anchor] = {value, values_ - before};
        if (frames_.empty()) {
            out_.root = std::move(value);
            return;
        }
        Frame& frame = frames_.back();
        if (frame.value.kind == Value::Kind::list) {
            frame.value.items.push_back(std::move(value));
        } else if (frame.wants_key) {
            frame.key = value.text;
            frame.key_place = value.place;
            frame.wants_key = false;
        } else {
            put(frame, std::move(value));
            frame.wants_key = true;
        }
    }

    void put(Frame& frame, Value value) {
        if (frame.key == "<<") {
            if (value.kind == Value::Kind::map) return frame.merged.push_back(std::move(value));
            for (Value& each : value.items) {
                if (each.kind != Value::Kind::map) fail(each.place, "only maps can be merged", "remove '<<'");
                frame.merged.push_back(std::move(each));
            }
            if (value.kind != Value::Kind::list) fail(value.place, "only maps can be merged", "remove '<<'");
            return;
        }
        if (Value* old = frame.value.find(frame.key)) {
            out_.remarks.push_back({frame.key, frame.key_place, "the key is there twice: the last one counts"});
            *old = std::move(value);
            for (std::size_t i = 0; i < frame.value.keys.size(); ++i)
                if (frame.value.keys[i] == frame.key) frame.value.key_places[i] = frame.key_place;
            return;
        }
        frame.value.add(frame.key, frame.key_place, std::move(value));
    }

    Document& out_;
    std::vector<Frame> frames_;
    std::map<YAML::anchor_t, Anchored> anchors_;
    std::size_t values_ = 0;
};

// yaml-cpp descends a level for each bracket, and again for each dash of "- - -".
void refuse_deep(std::string_view text, const std::string& file) {
    int depth = 0;
    int line = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n') ++line;
        if (c == '[' || c == '{') ++depth;
        if ((c == ']' || c == '}') && depth > 0) --depth;
        if (depth > 4 * kDeepest)
            throw Error(ErrorKind::invalid, text_of(FilePlace{file, {line, 1}}),
                        fmt::format("nested more than {} times", kDeepest), "a flatter file");
    }
}

}  // namespace

Document read_yaml(std::string_view text, const std::string& file) {
    check_text(text, file);
    refuse_deep(text, file);
    Document out;
    out.file = file;
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        YamlBuilder builder(out);
        if (!parser.HandleNextDocument(builder)) out.root = Value::map();
        Document second;
        second.file = file;
        YamlBuilder rest(second);
        if (parser.HandleNextDocument(rest))
            throw Error(ErrorKind::invalid, text_of(FilePlace{file, second.root.place}), "a second document begins",
                        "one file, one configuration");
    } catch (const YAML::Exception& error) {
        const Place at = {error.mark.line + 1, error.mark.column + 1};
        throw Error(ErrorKind::invalid, text_of(FilePlace{file, error.mark.is_null() ? Place{} : at}),
                    fmt::format("broken YAML: {}", error.msg), "check the indentation, quotes and brackets there");
    }
    return out;
}

}  // namespace vramfit::trainers
