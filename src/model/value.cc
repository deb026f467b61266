#include "model/value.h"

#include <algorithm>
#include <cstring>

namespace stator::model {
namespace {

constexpr std::string_view kTypeNames[] = {"",  "S", "N",  "B",  "BOOL", "NULL",
                                           "L", "M", "SS", "NS", "BS"};

// Where the payload of a length-prefixed value starts and how long it is.
std::string_view Payload(const char* data) {
  const char* p = data + 1;
  const uint64_t length = ReadVarint(&p);
  return {p, static_cast<size_t>(length)};
}

void AppendTag(std::string* out, Type type, bool plain = false) {
  out->push_back(static_cast<char>(static_cast<uint8_t>(type) | (plain ? kPlainFlag : 0)));
}

size_t VarintLength(uint64_t value) {
  size_t length = 1;
  for (; value >= 0x80; value >>= 7) ++length;
  return length;
}

size_t MapSizeBytes(MapView map) {
  size_t size = 0;
  for (const MapView::Entry& entry : map) size += entry.name.size() + ValueSizeBytes(entry.value);
  return size;
}

}  // namespace

std::string_view TypeName(Type type) { return kTypeNames[static_cast<int>(type)]; }

std::optional<Type> TypeFromName(std::string_view name) {
  for (int i = 1; i <= 10; ++i) {
    if (kTypeNames[i] == name) return static_cast<Type>(i);
  }
  return std::nullopt;
}

void AppendVarint(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::string_view ValueView::text() const { return Payload(data_); }
ListView ValueView::list() const { return ListView(Payload(data_).data()); }
MapView ValueView::map() const { return MapView(Payload(data_).data()); }
SetView ValueView::set() const { return SetView(Payload(data_).data()); }
Number ValueView::number() const { return Number::FromCanonical(text()); }

const char* ValueView::end() const {
  switch (type()) {
    case Type::kBool: return data_ + 2;
    case Type::kNull: return data_ + 1;
    default: {
      const std::string_view payload = Payload(data_);
      return payload.data() + payload.size();
    }
  }
}

ValueView MapView::Find(std::string_view name) const {
  if (data_ == nullptr) return ValueView();
  const char* p = data_;
  for (uint64_t left = ReadVarint(&p); left > 0; --left) {
    const size_t length = static_cast<size_t>(ReadVarint(&p) >> 1);
    const int order = std::memcmp(p, name.data(), std::min(length, name.size()));
    if (order == 0 && length == name.size()) return ValueView(p + length);
    if (order > 0 || (order == 0 && length > name.size())) return ValueView();
    p = ValueView(p + length).end();
  }
  return ValueView();
}

ValueView ListView::At(size_t index) const {
  const char* p = data_;
  const uint64_t count = ReadVarint(&p);
  if (index >= count) return ValueView();
  for (size_t i = 0; i < index; ++i) p = ValueView(p).end();
  return ValueView(p);
}

bool SetView::Contains(std::string_view member) const {
  for (std::string_view candidate : *this) {
    if (candidate == member) return true;
  }
  return false;
}

size_t ItemView::size_bytes() const {
  if (encoded_.empty()) return 0;
  const char* p = encoded_.data();
  return static_cast<size_t>(ReadVarint(&p));
}

MapView ItemView::attributes() const {
  if (encoded_.empty()) return MapView();
  const char* p = encoded_.data();
  ReadVarint(&p);
  return MapView(p);
}

bool IsJsonPlain(std::string_view text) {
  // Eight bytes at a time: a byte below 0x20, a quote or a backslash sets the top bit of its lane.
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    const uint64_t quote = word ^ (kOnes * '"');
    const uint64_t backslash = word ^ (kOnes * '\\');
    const uint64_t hit = ((word - kOnes * 0x20) & ~word) | ((quote - kOnes) & ~quote) |
                         ((backslash - kOnes) & ~backslash);
    if ((hit & kHigh) != 0) {
      // A borrow between lanes can raise a false alarm; look again byte by byte.
      for (int i = 0; i < 8; ++i) {
        const unsigned char c = static_cast<unsigned char>(p[i]);
        if (c < 0x20 || c == '"' || c == '\\') return false;
      }
    }
  }
  for (; left > 0; ++p, --left) {
    const unsigned char c = static_cast<unsigned char>(*p);
    if (c < 0x20 || c == '"' || c == '\\') return false;
  }
  return true;
}

void AppendName(std::string* out, std::string_view name) {
  AppendVarint(out, (static_cast<uint64_t>(name.size()) << 1) | (IsJsonPlain(name) ? 0 : 1));
  out->append(name);
}

void AppendString(std::string* out, std::string_view text) {
  AppendTag(out, Type::kS, IsJsonPlain(text));
  AppendVarint(out, text.size());
  out->append(text);
}

void AppendNumber(std::string* out, const Number& number) {
  AppendTag(out, Type::kN);
  std::string text;
  number.AppendTo(&text);
  AppendVarint(out, text.size());
  out->append(text);
}

void AppendBinary(std::string* out, std::string_view bytes) {
  AppendTag(out, Type::kB);
  AppendVarint(out, bytes.size());
  out->append(bytes);
}

void AppendBool(std::string* out, bool value) {
  AppendTag(out, Type::kBool);
  out->push_back(value ? 1 : 0);
}

void AppendNull(std::string* out) { AppendTag(out, Type::kNull); }

void AppendList(std::string* out, size_t count, std::string_view elements) {
  AppendTag(out, Type::kL);
  AppendVarint(out, VarintLength(count) + elements.size());
  AppendVarint(out, count);
  out->append(elements);
}

void AppendMap(std::string* out, size_t count, std::string_view entries) {
  AppendTag(out, Type::kM);
  AppendVarint(out, VarintLength(count) + entries.size());
  AppendVarint(out, count);
  out->append(entries);
}

void AppendSet(std::string* out, Type type, std::vector<std::string_view> members) {
  if (type == Type::kNS) {
    std::vector<std::pair<Number, std::string_view>> keyed;
    keyed.reserve(members.size());
    for (std::string_view member : members)
      keyed.emplace_back(Number::FromCanonical(member), member);
    const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(keyed.begin(), keyed.end(), by_value))
      std::sort(keyed.begin(), keyed.end(), by_value);
    for (size_t i = 0; i < members.size(); ++i) members[i] = keyed[i].second;
  } else if (!std::is_sorted(members.begin(), members.end())) {
    std::sort(members.begin(), members.end());
  }
  members.erase(std::unique(members.begin(), members.end()), members.end());
  bool plain = type == Type::kSS;
  size_t bytes = VarintLength(members.size());
  for (std::string_view member : members) {
    bytes += VarintLength(member.size()) + member.size();
    if (plain) plain = IsJsonPlain(member);
  }
  AppendTag(out, type, plain);
  AppendVarint(out, bytes);
  AppendVarint(out, members.size());
  for (std::string_view member : members) {
    AppendVarint(out, member.size());
    out->append(member);
  }
}

void AppendItem(std::string* out, size_t count, std::string_view entries) {
  std::string map;
  map.reserve(entries.size() + 4);
  AppendVarint(&map, count);
  map.append(entries);
  AppendVarint(out, MapSizeBytes(MapView(map.data())));
  out->append(map);
}

size_t ValueSizeBytes(ValueView value) {
  switch (value.type()) {
    case Type::kS:
    case Type::kB: return value.text().size();
    case Type::kN: return value.number().SizeBytes();
    case Type::kBool:
    case Type::kNull: return 1;
    case Type::kL: {
      size_t size = 3;
      for (ValueView element : value.list()) size += 1 + ValueSizeBytes(element);
      return size;
    }
    case Type::kM: {
      size_t size = 3;
      for (const MapView::Entry& entry : value.map())
        size += entry.name.size() + 1 + ValueSizeBytes(entry.value);
      return size;
    }
    case Type::kSS:
    case Type::kBS: {
      size_t size = 0;
      for (std::string_view member : value.set()) size += member.size();
      return size;
    }
    case Type::kNS: {
      size_t size = 0;
      for (std::string_view member : value.set()) size += Number::FromCanonical(member).SizeBytes();
      return size;
    }
  }
  return 0;
}

int ValueDepth(ValueView value) {
  int deepest = 0;
  if (value.type() == Type::kL) {
    for (ValueView element : value.list()) deepest = std::max(deepest, ValueDepth(element));
  } else if (value.type() == Type::kM) {
    for (const MapView::Entry& entry : value.map())
      deepest = std::max(deepest, ValueDepth(entry.value));
  }
  return deepest + 1;
}

bool ValuesEqual(ValueView a, ValueView b) {
  if (a.empty() || b.empty()) return false;
  return a.encoded() == b.encoded();
}

int CompareValues(ValueView a, ValueView b) {
  if (a.type() == Type::kN) {
    const std::strong_ordering order = a.number() <=> b.number();
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
  }
  return a.text().compare(b.text());
}

// --- CheckItem -----------------------------------------------------------------------------------

namespace {

class Checker {
 public:
  explicit Checker(std::string_view bytes) : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool Item() {
    uint64_t size;
    return Varint(&size) && Map(end_, 0) && p_ == end_;
  }

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && p_ < end_; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(*p_++);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool Bytes(const char* limit, std::string_view* bytes) {
    uint64_t length;
    if (!Varint(&length) || p_ > limit || length > static_cast<uint64_t>(limit - p_)) return false;
    *bytes = {p_, static_cast<size_t>(length)};
    p_ += length;
    return true;
  }

  bool Map(const char* limit, int depth) {
    uint64_t count;
    if (!Varint(&count)) return false;
    std::string_view previous;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t head;
      if (!Varint(&head) || p_ > limit || (head >> 1) > static_cast<uint64_t>(limit - p_))
        return false;
      const std::string_view name(p_, static_cast<size_t>(head >> 1));
      p_ += name.size();
      if (i > 0 && name <= previous) return false;
      previous = name;
      if (!Value(limit, depth + 1)) return false;
    }
    return p_ <= limit;
  }

  bool Value(const char* limit, int depth) {
    if (p_ >= limit || depth > kMaxNestingDepth + 1) return false;
    const Type type = static_cast<Type>(static_cast<uint8_t>(*p_++) & 0x7f);
    if (type < Type::kS || type > Type::kBS) return false;
    if (type == Type::kNull) return true;
    if (type == Type::kBool) return p_ < limit && static_cast<uint8_t>(*p_++) <= 1;
    uint64_t length;
    if (!Varint(&length) || p_ > limit || length > static_cast<uint64_t>(limit - p_)) return false;
    const char* value_end = p_ + length;
    uint64_t count;
    std::string_view member;
    switch (type) {
      case Type::kN: {
        const std::string_view text(p_, static_cast<size_t>(length));
        p_ = value_end;
        const Result<Number> number = Number::Parse(text);
        return number.ok() && number->ToString() == text;
      }
      case Type::kL:
        if (!Varint(&count)) return false;
        for (uint64_t i = 0; i < count; ++i) {
          if (!Value(value_end, depth + 1)) return false;
        }
        return p_ == value_end;
      case Type::kM: return Map(value_end, depth) && p_ == value_end;
      case Type::kSS:
      case Type::kNS:
      case Type::kBS:
        if (!Varint(&count) || count == 0) return false;
        for (uint64_t i = 0; i < count; ++i) {
          if (!Bytes(value_end, &member)) return false;
        }
        return p_ == value_end;
      default: p_ = value_end; return true;
    }
  }

  const char* p_;
  const char* end_;
};

}  // namespace

Status CheckItem(std::string_view encoded) {
  if (!Checker(encoded).Item())
    return CorruptionError("a stored item does not follow the item grammar");
  return OkStatus();
}

}  // namespace stator::model
