#include <cstring>

#include "api/attribute_json.h"
#include "base/base64.h"

namespace stator::api {
namespace {

using model::ListView;
using model::MapView;
using model::SetView;
using model::Type;
using model::ValueView;

// Writes behind the end of a string through a plain pointer: one capacity check per token instead of one per append. The
// string is longer than what was written until Finish cuts it.
class Writer {
 public:
  Writer(std::string* out, size_t expected) : out_(out) {
    const size_t used = out->size();
    out->resize(used + expected);
    p_ = out->data() + used;
    end_ = out->data() + out->size();
  }
  void Finish() { out_->resize(static_cast<size_t>(p_ - out_->data())); }

  // Makes room for `bytes` more.
  void Need(size_t bytes) {
    if (static_cast<size_t>(end_ - p_) >= bytes) return;
    const size_t used = static_cast<size_t>(p_ - out_->data());
    out_->resize(used + bytes + used / 2);
    p_ = out_->data() + used;
    end_ = out_->data() + out_->size();
  }
  // The following need room made before.
  void Byte(char c) { *p_++ = c; }
  void Bytes(std::string_view bytes) {
    std::memcpy(p_, bytes.data(), bytes.size());
    p_ += bytes.size();
  }
  template <size_t N>
  void Literal(const char (&text)[N]) {
    std::memcpy(p_, text, N - 1);
    p_ += N - 1;
  }

  // Makes its own room.
  void String(std::string_view text, bool plain) {
    if (plain) {
      Need(text.size() + 2);
      Byte('"');
      Bytes(text);
      Byte('"');
      return;
    }
    Need(text.size() * 6 + 2);
    Byte('"');
    for (const char c : text) Escaped(c);
    Byte('"');
  }
  void Base64(std::string_view bytes) {
    const size_t length = Base64Length(bytes.size());
    Need(length + 2);
    Byte('"');
    EncodeBase64(bytes, p_);
    p_ += length;
    Byte('"');
  }

  void Map(MapView map) {
    Need(2);
    Byte('{');
    bool first = true;
    for (const MapView::Entry& entry : map) {
      Need(1);
      if (!first) Byte(',');
      first = false;
      String(entry.name, !entry.name_needs_escape);
      Need(1);
      Byte(':');
      Value(entry.value);
    }
    Need(1);
    Byte('}');
  }
  void Value(ValueView value);

 private:
  void Escaped(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') {
      Byte(c);
      return;
    }
    Byte('\\');
    switch (c) {
      case '"':
      case '\\': Byte(c); return;
      case '\n': Byte('n'); return;
      case '\r': Byte('r'); return;
      case '\t': Byte('t'); return;
      case '\b': Byte('b'); return;
      case '\f': Byte('f'); return;
      default: break;
    }
    Literal("u00");
    Byte("0123456789abcdef"[byte >> 4]);
    Byte("0123456789abcdef"[byte & 15]);
  }
  void Set(ValueView value, Type type);

  std::string* out_;
  char* p_;
  char* end_;
};

void Writer::Set(ValueView value, Type type) {
  Need(8);
  if (type == Type::kSS) Literal("{\"SS\":[");
  if (type == Type::kNS) Literal("{\"NS\":[");
  if (type == Type::kBS) Literal("{\"BS\":[");
  const bool plain = type == Type::kNS || value.plain();
  bool first = true;
  for (std::string_view member : value.set()) {
    Need(1);
    if (!first) Byte(',');
    first = false;
    if (type == Type::kBS) {
      Base64(member);
    } else {
      String(member, plain);
    }
  }
  Need(2);
  Literal("]}");
}

void Writer::Value(ValueView value) {
  const Type type = value.type();
  switch (type) {
    case Type::kS: {
      const std::string_view text = value.text();
      if (value.plain()) {
        Need(text.size() + 8);
        Literal("{\"S\":\"");
        Bytes(text);
        Literal("\"}");
        return;
      }
      Need(5);
      Literal("{\"S\":");
      String(text, false);
      break;
    }
    case Type::kN: {
      const std::string_view text = value.text();
      Need(text.size() + 8);
      Literal("{\"N\":\"");
      Bytes(text);
      Literal("\"}");
      return;
    }
    case Type::kB:
      Need(5);
      Literal("{\"B\":");
      Base64(value.text());
      break;
    case Type::kBool:
      Need(14);
      if (value.boolean()) {
        Literal("{\"BOOL\":true}");
      } else {
        Literal("{\"BOOL\":false}");
      }
      return;
    case Type::kNull:
      Need(13);
      Literal("{\"NULL\":true}");
      return;
    case Type::kL: {
      Need(6);
      Literal("{\"L\":[");
      bool first = true;
      for (ValueView element : value.list()) {
        Need(1);
        if (!first) Byte(',');
        first = false;
        Value(element);
      }
      Need(1);
      Byte(']');
      break;
    }
    case Type::kM:
      Need(5);
      Literal("{\"M\":");
      Map(value.map());
      break;
    case Type::kSS:
    case Type::kNS:
    case Type::kBS: Set(value, type); return;
  }
  Need(1);
  Byte('}');
}

}  // namespace

void AppendItemJson(std::string* out, model::ItemView item) {
  // Names and values carry 12 bytes of punctuation and lose 3 of framing; base64 adds a third.
  const MapView map = item.attributes();
  Writer writer(out, item.encoded().size() + item.encoded().size() / 3 + 12 * map.size() + 64);
  writer.Map(map);
  writer.Finish();
}

void AppendMapJson(std::string* out, MapView map) {
  Writer writer(out, 256);
  writer.Map(map);
  writer.Finish();
}

void AppendValueJson(std::string* out, ValueView value) {
  Writer writer(out, value.encoded().size() + 32);
  writer.Value(value);
  writer.Finish();
}

void AppendJsonString(std::string* out, std::string_view text) {
  if (text.empty()) {
    out->append("\"\"");
    return;
  }
  Writer writer(out, text.size() + 2);
  writer.String(text, model::IsJsonPlain(text));
  writer.Finish();
}

void AppendBase64(std::string* out, std::string_view bytes) {
  const size_t used = out->size();
  out->resize(used + Base64Length(bytes.size()));
  EncodeBase64(bytes, out->data() + used);
}

}  // namespace stator::api
