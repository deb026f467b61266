// Writes items as Ion text.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "exchange/ion.h"

namespace stator::exchange {
namespace {

using model::Type;
using model::ValueView;

bool IsPlainSymbol(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWords = {"null", "true", "false", "nan"};
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }) &&
         std::ranges::find(kWords, text) == kWords.end();
}

void AppendQuoted(std::string* out, std::string_view text, char quote) {
  out->push_back(quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(*out), "\\x{:02x}", byte);
    } else {
      out->push_back(c);
    }
  }
  out->push_back(quote);
}

// `text` is in the canonical form of model::Number.
void AppendDecimal(std::string* out, std::string_view text) {
  constexpr size_t kMostZeros = 6;  // behind the point, before an exponent is written
  const size_t point = text.find('.');
  if (point == std::string_view::npos) {
    const size_t last = text.find_last_not_of('0');
    const bool zero = last == std::string_view::npos;
    const size_t zeros = zero ? 0 : text.size() - 1 - last;
    out->append(text.substr(0, text.size() - zeros));
    if (zeros == 0) {
      out->push_back('.');
    } else {
      fmt::format_to(std::back_inserter(*out), "d{}", zeros);
    }
    return;
  }
  const size_t digit = text.find_first_of("123456789");
  if (digit < point || digit - point <= kMostZeros) {
    out->append(text);
    return;
  }
  if (text.front() == '-') out->push_back('-');
  out->push_back(text[digit]);
  if (digit + 1 < text.size()) out->append(".").append(text.substr(digit + 1));
  fmt::format_to(std::back_inserter(*out), "d-{}", digit - point);
}

void AppendBlob(std::string* out, std::string_view bytes) {
  out->append("{{");
  const size_t used = out->size();
  out->resize(used + Base64Length(bytes.size()));
  EncodeBase64(bytes, out->data() + used);
  out->append("}}");
}

void AppendMap(std::string* out, model::MapView map);

void AppendScalar(std::string* out, Type type, std::string_view text) {
  if (type == Type::kN) return AppendDecimal(out, text);
  if (type == Type::kB) return AppendBlob(out, text);
  AppendQuoted(out, text, '"');
}

void AppendValue(std::string* out, ValueView value) {
  const Type type = value.type();
  const auto list = [out](const auto& elements, auto append) {
    out->push_back('[');
    bool first = true;
    for (const auto& element : elements) {
      if (!first) out->push_back(',');
      first = false;
      append(element);
    }
    out->push_back(']');
  };
  switch (type) {
    case Type::kS:
    case Type::kN:
    case Type::kB: return AppendScalar(out, type, value.text());
    case Type::kBool: out->append(value.boolean() ? "true" : "false"); return;
    case Type::kNull: out->append("null"); return;
    case Type::kL: return list(value.list(), [out](ValueView one) { AppendValue(out, one); });
    case Type::kM: return AppendMap(out, value.map());
    case Type::kSS:
    case Type::kNS:
    case Type::kBS: {
      const Type member = type == Type::kSS ? Type::kS : type == Type::kNS ? Type::kN : Type::kB;
      out->append("$dynamodb_").append(model::TypeName(type)).append("::");
      return list(value.set(),
                  [out, member](std::string_view one) { AppendScalar(out, member, one); });
    }
  }
}

void AppendMap(std::string* out, model::MapView map) {
  out->push_back('{');
  bool first = true;
  for (const auto& entry : map) {
    if (!first) out->push_back(',');
    first = false;
    if (IsPlainSymbol(entry.name)) {
      out->append(entry.name);
    } else {
      AppendQuoted(out, entry.name, '\'');
    }
    out->push_back(':');
    AppendValue(out, entry.value);
  }
  out->push_back('}');
}

}  // namespace

void AppendIonItem(std::string* out, model::ItemView item) { AppendMap(out, item.attributes()); }

}  // namespace stator::exchange
