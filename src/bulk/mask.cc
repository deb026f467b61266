#include "bulk/mask.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "access/crypto.h"
#include "bulk/fake.h"
#include "model/number.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace stator::bulk {
namespace {

constexpr std::string_view kEach = "[]";
constexpr size_t kLeastSecret = 16;
constexpr size_t kMostFile = 1 << 20;

Error ErrorAt(const std::string& file, const toml::source_region& where, std::string_view what) {
  return ValidationError(fmt::format("{}:{}: {}", file, where.begin.line, what));
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return ValidationError(path + ": cannot be read");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.size() > kMostFile) return ValidationError(path + ": is larger than 1 MB");
  return text;
}

// Splits "a.b[].c" into a, b, [], c.
std::vector<std::string> SplitPath(std::string_view text) {
  std::vector<std::string> steps;
  while (!text.empty() || steps.empty()) {
    const size_t dot = text.find('.');
    std::string_view step = text.substr(0, dot);
    size_t each = 0;
    while (step.size() > kEach.size() && step.substr(step.size() - kEach.size()) == kEach) {
      step.remove_suffix(kEach.size());
      ++each;
    }
    steps.emplace_back(step);
    for (; each > 0; --each) steps.emplace_back(kEach);
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
    if (text.empty()) steps.emplace_back();
  }
  return steps;
}

Result<std::vector<std::string>> PathOf(const std::string& file, const toml::node& node) {
  std::vector<std::string> path;
  if (const auto* text = node.as_string()) {
    path = SplitPath(text->get());
  } else if (const toml::array* names = node.as_array()) {
    for (const toml::node& name : *names) {
      if (!name.is_string()) return ErrorAt(file, name.source(), "path: must be names");
      path.push_back(name.as_string()->get());
    }
  }
  bool wrong = path.empty() || path.front() == kEach;
  for (const std::string& step : path) wrong = wrong || step.empty();
  if (wrong) return ErrorAt(file, node.source(), "path: must be like \"name\" or \"a.b[].c\"");
  return path;
}

Result<std::string> ConstantOf(const std::string& file, const toml::node& node) {
  std::string encoded;
  if (const auto* text = node.as_string()) {
    model::AppendString(&encoded, text->get());
  } else if (const auto* whole = node.as_integer()) {
    model::AppendNumber(&encoded, model::Number::FromInt(whole->get()));
  } else if (const auto* flag = node.as_boolean()) {
    model::AppendBool(&encoded, flag->get());
  } else {
    return ErrorAt(file, node.source(), "value: must be a text, a whole number, true or false");
  }
  return encoded;
}

bool IsSet(const model::Node& node) {
  const model::Type type = node.type();
  return type == model::Type::kSS || type == model::Type::kNS || type == model::Type::kBS;
}

std::optional<Mask::Action> ActionOf(std::string_view text) {
  if (text == "drop") return Mask::Action::kDrop;
  if (text == "hash") return Mask::Action::kHash;
  if (text == "constant") return Mask::Action::kConstant;
  if (text == "fake") return Mask::Action::kFake;
  return std::nullopt;
}

std::optional<Mask::Fake> FakeOf(std::string_view text) {
  if (text == "name") return Mask::Fake::kName;
  if (text == "email") return Mask::Fake::kEmail;
  if (text == "phone") return Mask::Fake::kPhone;
  if (text == "digits") return Mask::Fake::kDigits;
  return std::nullopt;
}

std::string TextOf(const toml::table& table, std::string_view name) {
  return table[name].value_or(std::string());
}

Result<std::string> ReadSecret(const std::string& rules_path, const std::string& named) {
  if (named.empty()) return std::string();
  const std::filesystem::path path =
      std::filesystem::path(rules_path).parent_path() / std::filesystem::path(named);
  ASSIGN_OR_RETURN(std::string secret, ReadFile(path.string()));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < kLeastSecret) {
    return ValidationError(
        fmt::format("{}: a secret has at least {} bytes; make one with: openssl rand -hex 32",
                    path.string(), kLeastSecret));
  }
  return secret;
}

}  // namespace

Result<Mask> Mask::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) return ErrorAt(path, parsed.error().source(), parsed.error().description());
  ASSIGN_OR_RETURN(std::string secret, ReadSecret(path, TextOf(parsed.table(), "secret-file")));
  return Parse(text, std::move(secret), path);
}

Result<Mask> Mask::Parse(std::string_view rules, std::string secret, const std::string& file) {
  const toml::parse_result parsed = toml::parse(rules);
  if (!parsed) return ErrorAt(file, parsed.error().source(), parsed.error().description());
  Mask mask;
  mask.secret_ = std::move(secret);
  for (const auto& [key, node] : parsed.table()) {
    if (key.str() == "secret-file" && node.is_string()) continue;
    if (key.str() != "mask" || !node.is_array_of_tables())
      return ErrorAt(file, node.source(),
                     fmt::format("{}: there is secret-file, and [[mask]]", key.str()));
    for (const toml::node& one : *node.as_array()) {
      const toml::table& table = *one.as_table();
      Rule rule;
      for (const auto& [name, value] : table) {
        const std::string_view word = name.str();
        if (word != "path" && word != "do" && word != "as" && word != "value")
          return ErrorAt(file, value.source(), fmt::format("{}: there is no such setting", word));
      }
      const toml::node* path = table.get("path");
      if (path == nullptr) return ErrorAt(file, one.source(), "path: is missing");
      ASSIGN_OR_RETURN(rule.path, PathOf(file, *path));
      const std::optional<Action> action = ActionOf(TextOf(table, "do"));
      if (!action) return ErrorAt(file, one.source(), "do: must be drop, hash, constant or fake");
      rule.action = *action;
      if (table.contains("as") != (rule.action == Action::kFake))
        return ErrorAt(file, one.source(), "as: belongs to do = \"fake\", which needs it");
      if (table.contains("value") != (rule.action == Action::kConstant))
        return ErrorAt(file, one.source(), "value: belongs to do = \"constant\", which needs it");
      if (rule.action == Action::kFake) {
        const std::optional<Fake> fake = FakeOf(TextOf(table, "as"));
        if (!fake) return ErrorAt(file, one.source(), "as: must be name, email, phone or digits");
        rule.fake = *fake;
      }
      if (rule.action == Action::kConstant) {
        ASSIGN_OR_RETURN(rule.constant, ConstantOf(file, *table.get("value")));
      }
      const bool keyed = rule.action == Action::kHash || rule.action == Action::kFake;
      if (keyed && mask.secret_.empty()) {
        return ErrorAt(file, one.source(),
                       "do: hash and fake need a secret, in the file that secret-file names");
      }
      mask.rules_.push_back(std::move(rule));
    }
  }
  mask.fingerprint_ =
      access::Hex(access::AsText(access::HmacSha256(mask.secret_, "rules\n" + std::string(rules))));
  return mask;
}

Status Mask::CheckKeys(const model::KeySchema& key) const {
  for (const Rule& rule : rules_) {
    if (!key.Has(rule.path.front()) || rule.path.size() > 1) continue;
    if (rule.action == Action::kHash || rule.action == Action::kFake) continue;
    return ValidationError(
        fmt::format("{} is a key attribute: it can be hashed or faked, not dropped, and a constant "
                    "would make all keys equal",
                    rule.path.front()));
  }
  return OkStatus();
}

std::string Mask::SealKey() const {
  if (secret_.empty()) return {};
  return std::string(access::AsText(access::HmacSha256(secret_, "progress files")));
}

std::string Mask::Apply(model::ItemView item) const {
  model::Node root = model::Node::FromMap(item.attributes());
  for (const Rule& rule : rules_) (void)Apply(rule, 0, &root);
  return root.EncodeItem();
}

bool Mask::Apply(const Rule& rule, size_t step, model::Node* node) const {
  if (step == rule.path.size()) {
    if (rule.action == Action::kDrop) return true;
    std::string encoded;
    node->AppendTo(&encoded);
    *node = model::Node::FromOwned(Masked(rule, model::ValueView(encoded)));
    return false;
  }
  const std::string& name = rule.path[step];
  if (name == kEach && node->OpenList()) {
    std::vector<model::Node>& list = node->list();
    for (size_t i = 0; i < list.size();) {
      if (Apply(rule, step + 1, &list[i])) {
        list.erase(list.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return false;
  }
  // The members of a set are masked together: none of them has a place of its own.
  if (name == kEach && step + 1 == rule.path.size() && IsSet(*node))
    return Apply(rule, step + 1, node);
  if (!node->OpenMap()) return false;
  const auto found = node->map().find(name);
  if (found != node->map().end() && Apply(rule, step + 1, &found->second)) node->map().erase(found);
  return false;
}

std::string Mask::Masked(const Rule& rule, model::ValueView value) const {
  if (rule.action == Action::kConstant) return rule.constant;
  const auto hash = [&](std::string_view text) { return access::HmacSha256(secret_, text); };
  const auto fake_text = [&](std::string_view text) -> std::string {
    switch (rule.fake) {
      case Fake::kName: return FakeName(hash(text));
      case Fake::kEmail: return FakeEmail(hash(text));
      case Fake::kPhone: return FakePhone(hash(text));
      case Fake::kDigits: return FakeDigits(text, hash(text));
    }
    return {};
  };
  const auto text_of = [&](std::string_view text) {
    return rule.action == Action::kFake ? fake_text(text) : access::Hex(access::AsText(hash(text)));
  };
  // The canonical text of a number.
  const auto number_of = [&](std::string_view text) {
    const bool digits = rule.action == Action::kFake && rule.fake == Fake::kDigits;
    if (digits) {
      // The fake of a number with many zeros has more digits than a number may.
      const Result<model::Number> faked = model::Number::Parse(FakeDigits(text, hash(text)));
      if (faked.ok()) return faked->ToString();
    }
    return model::Number::Parse(HashNumber(hash(text)))->ToString();
  };
  std::string out;
  const model::Type type = value.type();
  switch (type) {
    case model::Type::kS: model::AppendString(&out, text_of(value.text())); break;
    case model::Type::kN:
      model::AppendNumber(&out, *model::Number::Parse(number_of(value.text())));
      break;
    case model::Type::kB: model::AppendBinary(&out, access::AsText(hash(value.text()))); break;
    case model::Type::kNull: model::AppendNull(&out); break;
    case model::Type::kSS:
    case model::Type::kNS:
    case model::Type::kBS: {
      std::vector<std::string> members;
      for (const std::string_view member : value.set()) {
        members.push_back(type == model::Type::kSS   ? text_of(member)
                          : type == model::Type::kNS ? number_of(member)
                                                     : std::string(access::AsText(hash(member))));
      }
      model::AppendSet(&out, type, std::vector<std::string_view>(members.begin(), members.end()));
      break;
    }
    // Others have no form that a replacement could keep.
    case model::Type::kBool:
    case model::Type::kL:
    case model::Type::kM:
      model::AppendString(&out, access::Hex(access::AsText(hash(value.encoded()))));
      break;
  }
  return out;
}

}  // namespace stator::bulk
