// Writes attribute values as JSON.
#include <algorithm>
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

// memcpy for what is mostly as short as names and numbers are, where the call costs more than the
// copy.
inline void CopyShort(char* to, const char* from, size_t bytes) {
  if (bytes > 32) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + bytes - 4, from + bytes - 4, 4);
  } else if (bytes > 0) {
    to[0] = from[0];
    to[bytes / 2] = from[bytes / 2];
    to[bytes - 1] = from[bytes - 1];
  }
}

// Writes behind the end of a buffer through a plain pointer: one capacity check per token instead
// of one per append. What it wrote is part of the buffer after Finish.
class Writer {
 public:
  Writer(ByteBuffer* out, size_t expected)
      : out_(out), p_(out->MakeRoom(expected)), limit_(out->limit()) {}
  void Finish() { out_->SetEnd(p_); }

  // Makes room for `bytes` more.
  void Need(size_t bytes) {
    if (static_cast<size_t>(limit_ - p_) < bytes) Grow(bytes);
  }
  // The following need room made before.
  void Byte(char c) { *p_++ = c; }
  void Bytes(std::string_view bytes) {
    CopyShort(p_, bytes.data(), bytes.size());
    p_ += bytes.size();
  }
  template <size_t N>
  void Literal(const char (&text)[N]) {
    std::memcpy(p_, text, N - 1);
    p_ += N - 1;
  }

  // Makes its own room, and two bytes more.
  void String(std::string_view text, bool plain) {
    if (plain) {
      Need(text.size() + 4);
      Byte('"');
      Bytes(text);
      Byte('"');
      return;
    }
    // Room for six times a long text would be five times too much, mostly.
    constexpr size_t kStretch = 4096;
    Need(std::min(text.size(), kStretch) * 6 + 4);
    Byte('"');
    for (; text.size() > kStretch; text.remove_prefix(kStretch)) {
      Pieces(text.substr(0, kStretch));
      Need(kStretch * 6 + 4);
    }
    Pieces(text);
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
    Need(3);
    Byte('{');
    bool first = true;
    for (const MapView::Entry& entry : map) {
      if (!first) Byte(',');
      first = false;
      String(entry.name, !entry.name_needs_escape);
      Byte(':');
      Value(entry.value);
      Need(2);
    }
    Byte('}');
  }
  void Value(ValueView value);

 private:
  // Mostly there is little to escape, and the rest goes in pieces.
  void Pieces(std::string_view text) {
    constexpr size_t kPiece = 32;
    for (; text.size() > kPiece; text.remove_prefix(kPiece)) Piece(text.substr(0, kPiece));
    Piece(text);
  }
  void Piece(std::string_view text) {
    if (model::IsJsonPlain(text)) {
      Bytes(text);
    } else {
      for (const char c : text) Escaped(c);
    }
  }
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
  __attribute__((noinline)) void Grow(size_t bytes) {
    out_->SetEnd(p_);
    p_ = out_->MakeRoom(bytes);
    limit_ = out_->limit();
  }

  ByteBuffer* out_;
  char* p_;
  char* limit_;
};

// Where what goes into a string is written first.
ByteBuffer& Scratch() {
  thread_local ByteBuffer scratch;
  scratch.Clear();
  return scratch;
}

void MoveTo(std::string* out, ByteBuffer* scratch) {
  out->append(scratch->view());
  // A huge value must not pin its memory on every thread.
  constexpr size_t kKeptBytes = 1 << 20;
  if (scratch->capacity() > kKeptBytes) *scratch = ByteBuffer();
}

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
  ByteBuffer& scratch = Scratch();
  Writer writer(&scratch, 2 * item.encoded().size());
  writer.Map(item.attributes());
  writer.Finish();
  MoveTo(out, &scratch);
}

void WriteListedItem(model::ItemView item, bool first, ByteBuffer* out) {
  Writer writer(out, 1);  // the comma's; a guess for each item would make a list that was reserved
                          // for all of them grow
  if (!first) writer.Byte(',');
  writer.Map(item.attributes());
  writer.Finish();
}

void AppendMapJson(std::string* out, MapView map) {
  ByteBuffer& scratch = Scratch();
  Writer writer(&scratch, 256);
  writer.Map(map);
  writer.Finish();
  MoveTo(out, &scratch);
}

void AppendValueJson(std::string* out, ValueView value) {
  ByteBuffer& scratch = Scratch();
  Writer writer(&scratch, value.encoded().size() + 32);
  writer.Value(value);
  writer.Finish();
  MoveTo(out, &scratch);
}

void AppendJsonString(std::string* out, std::string_view text) {
  if (model::IsJsonPlain(text)) {
    out->push_back('"');
    out->append(text);
    out->push_back('"');
    return;
  }
  ByteBuffer& scratch = Scratch();
  Writer writer(&scratch, text.size() + 2);
  writer.String(text, false);
  writer.Finish();
  MoveTo(out, &scratch);
}

void AppendBase64(std::string* out, std::string_view bytes) {
  const size_t used = out->size();
  out->resize(used + Base64Length(bytes.size()));
  EncodeBase64(bytes, out->data() + used);
}

}  // namespace stator::api
