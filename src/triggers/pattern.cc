#include "triggers/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace stator::triggers {
namespace {

using simdjson::dom::element;

constexpr int kMostDepth = 20;

Error Wrong(const std::string& path, std::string_view why) {
  return ValidationError(
      fmt::format("Invalid filter pattern definition. {}: {}", path.empty() ? "$" : path, why));
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::optional<double> NumberOf(element json) {
  if (!json.is_number()) return std::nullopt;
  double number = 0;
  if (json.get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

struct Choice {
  enum Kind {
    kText,
    kNumber,
    kTrue,
    kFalse,
    kNull,
    kPrefix,
    kSuffix,
    kIgnoringCase,
    kExists,
    kAbsent,
    kAnythingBut,
    kRange,
  };
  Kind kind = kNull;
  bool ignores_case = false;  // of kPrefix and kSuffix
  std::string text;
  double number = 0;
  // kRange: low <= x <= high, without the bounds that are open.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  std::vector<Choice> but;  // kAnythingBut
};

bool MatchesText(const Choice& choice, std::string_view text) {
  switch (choice.kind) {
    case Choice::kText: return text == choice.text;
    case Choice::kIgnoringCase: return SameIgnoringCase(text, choice.text);
    case Choice::kPrefix: {
      const std::string_view head = text.substr(0, choice.text.size());
      return choice.ignores_case ? SameIgnoringCase(head, choice.text) : head == choice.text;
    }
    case Choice::kSuffix: {
      if (text.size() < choice.text.size()) return false;
      const std::string_view tail = text.substr(text.size() - choice.text.size());
      return choice.ignores_case ? SameIgnoringCase(tail, choice.text) : tail == choice.text;
    }
    default: return false;
  }
}

// Whether a leaf of the record matches. Objects match nothing.
bool MatchesLeaf(const Choice& choice, element leaf) {
  if (choice.kind == Choice::kExists) return true;
  if (choice.kind == Choice::kAbsent) return false;
  if (choice.kind == Choice::kAnythingBut) {
    return std::none_of(choice.but.begin(), choice.but.end(),
                        [leaf](const Choice& each) { return MatchesLeaf(each, leaf); });
  }
  std::string_view text;
  if (leaf.get(text) == simdjson::SUCCESS) return MatchesText(choice, text);
  if (const std::optional<double> number = NumberOf(leaf)) {
    if (choice.kind == Choice::kNumber) return *number == choice.number;
    if (choice.kind != Choice::kRange) return false;
    return (choice.low_open ? *number > choice.low : *number >= choice.low) &&
           (choice.high_open ? *number < choice.high : *number <= choice.high);
  }
  bool flag = false;
  if (leaf.get(flag) == simdjson::SUCCESS)
    return choice.kind == (flag ? Choice::kTrue : Choice::kFalse);
  return leaf.is_null() && choice.kind == Choice::kNull;
}

bool MatchesRule(const std::vector<Choice>& choices, const element* found) {
  for (const Choice& choice : choices) {
    if (found == nullptr || found->is_object()) {
      // "exists" looks at leaves only: an object is none.
      if (choice.kind == Choice::kAbsent) return true;
      continue;
    }
    simdjson::dom::array elements;
    if (found->get(elements) != simdjson::SUCCESS) {
      if (MatchesLeaf(choice, *found)) return true;
      continue;
    }
    for (const element each : elements) {
      if (!each.is_object() && !each.is_array() && MatchesLeaf(choice, each)) return true;
    }
  }
  return false;
}

}  // namespace

struct Pattern::Node {
  struct Member {
    std::string name;
    std::vector<Choice> rule;  // empty: `below`
    std::shared_ptr<const Node> below;
  };
  std::vector<Member> members;
  std::vector<std::shared_ptr<const Node>> either;  // of "$or"
};

namespace {

using Node = Pattern::Node;

// Reads patterns. `path` is where it is, for errors.
class Reader {
 public:
  Result<std::shared_ptr<const Node>> Read(element json, const std::string& path, int depth) {
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return Wrong(path, "expected an object");
    if (depth > kMostDepth)
      return Wrong(path, fmt::format("more than {} objects in each other", kMostDepth));
    auto node = std::make_shared<Node>();
    for (const auto& [key, value] : object) {
      const std::string name(key);
      const std::string where = path.empty() ? name : path + "." + name;
      if (name == "$or" && IsListOfObjects(value)) {
        TRY(ReadEither(value, where, depth, node.get()));
        continue;
      }
      Node::Member member{name, {}, nullptr};
      if (value.is_object()) {
        ASSIGN_OR_RETURN(member.below, Read(value, where, depth + 1));
      } else {
        ASSIGN_OR_RETURN(member.rule, ReadRule(value, where));
      }
      const auto same = [&name](const Node::Member& each) { return each.name == name; };
      std::erase_if(node->members, same);
      node->members.push_back(std::move(member));
    }
    if (node->members.empty() && node->either.empty())
      return Wrong(path, "an empty object matches nothing");
    return std::shared_ptr<const Node>(std::move(node));
  }

 private:
  static bool IsListOfObjects(element json) {
    simdjson::dom::array list;
    if (json.get(list) != simdjson::SUCCESS || list.size() == 0) return false;
    return std::all_of(list.begin(), list.end(), [](element each) { return each.is_object(); });
  }

  Status ReadEither(element json, const std::string& path, int depth, Node* node) {
    node->either.clear();
    simdjson::dom::array list = json.get_array().value();
    if (list.size() < 2) return Wrong(path, "expected at least two objects");
    for (const element each : list) {
      ASSIGN_OR_RETURN(std::shared_ptr<const Node> one, Read(each, path, depth + 1));
      node->either.push_back(std::move(one));
    }
    return OkStatus();
  }

  Result<std::vector<Choice>> ReadRule(element json, const std::string& path) {
    simdjson::dom::array list;
    if (json.get(list) != simdjson::SUCCESS)
      return Wrong(path, "expected an object, or an array of values");
    if (list.size() == 0) return Wrong(path, "an empty array matches nothing");
    std::vector<Choice> rule;
    for (const element each : list) {
      ASSIGN_OR_RETURN(Choice choice, ReadChoice(each, path));
      rule.push_back(std::move(choice));
    }
    const auto is_range = [](const Choice& choice) { return choice.kind == Choice::kRange; };
    // The numbers of items are strings in records: {"N":"42"}.
    if (OfItem(path) && std::all_of(rule.begin(), rule.end(), is_range)) {
      return Wrong(path,
                   "it can match no record: numbers of items are strings there, so \"numeric\" "
                   "does not match them; list the values as strings");
    }
    return rule;
  }

  static bool OfItem(const std::string& path) {
    return (path.starts_with("dynamodb.Keys.") || path.starts_with("dynamodb.NewImage.") ||
            path.starts_with("dynamodb.OldImage.")) &&
           (path.ends_with(".N") || path.ends_with(".NS"));
  }

  static std::optional<Choice> ReadValue(element json) {
    Choice choice;
    std::string_view text;
    bool flag = false;
    if (json.get(text) == simdjson::SUCCESS) {
      choice.kind = Choice::kText;
      choice.text = text;
    } else if (const std::optional<double> number = NumberOf(json)) {
      choice.kind = Choice::kNumber;
      choice.number = *number;
    } else if (json.get(flag) == simdjson::SUCCESS) {
      choice.kind = flag ? Choice::kTrue : Choice::kFalse;
    } else if (json.is_null()) {
      choice.kind = Choice::kNull;
    } else {
      return std::nullopt;
    }
    return choice;
  }

  Result<Choice> ReadChoice(element json, const std::string& path) {
    if (std::optional<Choice> value = ReadValue(json)) return *std::move(value);
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return Wrong(path, "an array in an array");
    if (object.size() != 1) return Wrong(path, "expected one operator in each object");
    const auto [key, operand] = *object.begin();
    const std::string_view name = key;
    if (name == "exists") {
      bool wanted = false;
      if (operand.get(wanted) != simdjson::SUCCESS)
        return Wrong(path, "\"exists\" takes true or false");
      Choice choice;
      choice.kind = wanted ? Choice::kExists : Choice::kAbsent;
      return choice;
    }
    if (name == "numeric") return ReadRange(operand, path);
    if (name == "anything-but") return ReadBut(operand, path);
    return ReadText(name, operand, path);
  }

  // Reads an operator on text.
  Result<Choice> ReadText(std::string_view name, element operand, const std::string& path) {
    Choice choice;
    if (name == "prefix") {
      choice.kind = Choice::kPrefix;
    } else if (name == "suffix") {
      choice.kind = Choice::kSuffix;
    } else if (name == "equals-ignore-case") {
      choice.kind = Choice::kIgnoringCase;
    } else {
      return Wrong(path, fmt::format("there is no operator \"{}\"", name));
    }
    std::string_view text;
    simdjson::dom::object nested;
    if (choice.kind != Choice::kIgnoringCase && operand.get(nested) == simdjson::SUCCESS &&
        nested.size() == 1 && (*nested.begin()).key == std::string_view("equals-ignore-case")) {
      choice.ignores_case = true;
      operand = (*nested.begin()).value;
    }
    if (operand.get(text) != simdjson::SUCCESS)
      return Wrong(path, fmt::format("\"{}\" takes a string", name));
    choice.text = text;
    return choice;
  }

  Result<Choice> ReadBut(element operand, const std::string& path) {
    Choice choice;
    choice.kind = Choice::kAnythingBut;
    simdjson::dom::object object;
    if (operand.get(object) == simdjson::SUCCESS) {
      if (object.size() != 1) return Wrong(path, "expected one operator in \"anything-but\"");
      const auto [key, texts] = *object.begin();
      TRY(AddBut(texts, path, &choice, [&, name = std::string_view(key)](element each) {
        return ReadText(name, each, path);
      }));
      return choice;
    }
    TRY(AddBut(operand, path, &choice, [&path](element each) -> Result<Choice> {
      std::optional<Choice> value = ReadValue(each);
      if (!value || (value->kind != Choice::kText && value->kind != Choice::kNumber))
        return Wrong(path, "\"anything-but\" takes strings and numbers");
      return *std::move(value);
    }));
    return choice;
  }

  template <typename ReadOne>
  Status AddBut(element operand, const std::string& path, Choice* choice, ReadOne read_one) {
    simdjson::dom::array list;
    if (operand.get(list) != simdjson::SUCCESS) {
      ASSIGN_OR_RETURN(Choice one, read_one(operand));
      choice->but.push_back(std::move(one));
      return OkStatus();
    }
    if (list.size() == 0) return Wrong(path, "\"anything-but\" takes at least one value");
    for (const element each : list) {
      ASSIGN_OR_RETURN(Choice one, read_one(each));
      choice->but.push_back(std::move(one));
    }
    return OkStatus();
  }

  Result<Choice> ReadRange(element operand, const std::string& path) {
    Choice choice;
    choice.kind = Choice::kRange;
    simdjson::dom::array list;
    if (operand.get(list) != simdjson::SUCCESS || (list.size() != 2 && list.size() != 4))
      return Wrong(path, "\"numeric\" takes an operator and a number, or two of each");
    bool low = false, high = false;
    for (size_t at = 0; at < list.size(); at += 2) {
      std::string_view op;
      const std::optional<double> number = NumberOf(list.at(at + 1).value());
      if (list.at(at).get(op) != simdjson::SUCCESS || !number)
        return Wrong(path, "\"numeric\" takes an operator and a number, or two of each");
      if (op == "=" && list.size() == 2) {
        choice.low = choice.high = *number;
      } else if ((op == ">" || op == ">=") && !low) {
        low = true;
        choice.low = *number;
        choice.low_open = op == ">";
      } else if ((op == "<" || op == "<=") && !high) {
        high = true;
        choice.high = *number;
        choice.high_open = op == "<";
      } else {
        return Wrong(path, fmt::format("\"{}\" does not fit in \"numeric\"", op));
      }
    }
    if (choice.low > choice.high ||
        (choice.low == choice.high && (choice.low_open || choice.high_open)))
      return Wrong(path, "it can match no record: the range of \"numeric\" is empty");
    return choice;
  }
};

bool MatchesNode(const Node& node, const element* found) {
  simdjson::dom::object object;
  const bool is_object = found != nullptr && found->get(object) == simdjson::SUCCESS;
  for (const Node::Member& member : node.members) {
    element value;
    const bool has = is_object && object.at_key(member.name).get(value) == simdjson::SUCCESS;
    const bool matches = member.below != nullptr
                             ? MatchesNode(*member.below, has ? &value : nullptr)
                             : MatchesRule(member.rule, has ? &value : nullptr);
    if (!matches) return false;
  }
  if (node.either.empty()) return true;
  return std::any_of(node.either.begin(), node.either.end(),
                     [found](const auto& each) { return MatchesNode(*each, found); });
}

}  // namespace

Result<Pattern> Pattern::Parse(std::string_view text) {
  if (text.size() > kMostPatternBytes)
    return Wrong("", fmt::format("it is longer than {} bytes", kMostPatternBytes));
  simdjson::dom::parser parser;
  element json;
  const simdjson::padded_string padded(text);
  if (parser.parse(padded).get(json) != simdjson::SUCCESS) return Wrong("", "it is no JSON");
  Reader reader;
  ASSIGN_OR_RETURN(std::shared_ptr<const Node> root, reader.Read(json, "", 1));
  return Pattern(std::move(root));
}

bool Pattern::Matches(element record) const { return MatchesNode(*root_, &record); }

}  // namespace stator::triggers
