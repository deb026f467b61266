// The words of `stator iam`, and the JSON that it prints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "access/sigv4.h"
#include "base/json_writer.h"
#include "base/percent_code.h"
#include "iam/form.h"
#include "server/iam_command.h"

namespace stator::server {
namespace {

constexpr std::array<std::string_view, 10> kLists = {
    "Tags",           "TagKeys",    "ActionNames",       "ResourceArns", "PolicyInputList",
    "ContextEntries", "PolicyArns", "TransitiveTagKeys", "ClientIDList", "ThumbprintList"};
constexpr std::array<std::string_view, 2> kFlags = {"SetAsDefault", "OnlyAttached"};
// Elements of replies that are lists although they may be empty.
constexpr std::array<std::string_view, 20> kReplyLists = {"Users",
                                                          "Accounts",
                                                          "Groups",
                                                          "Roles",
                                                          "Policies",
                                                          "Versions",
                                                          "Tags",
                                                          "AccessKeyMetadata",
                                                          "PolicyNames",
                                                          "AttachedPolicies",
                                                          "InstanceProfiles",
                                                          "EvaluationResults",
                                                          "MatchedStatements",
                                                          "MissingContextValues",
                                                          "PolicyGroups",
                                                          "PolicyUsers",
                                                          "PolicyRoles",
                                                          "ClientIDList",
                                                          "ThumbprintList",
                                                          "OpenIDConnectProviderList"};

template <size_t N>
bool IsIn(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// "create-access-key" -> "CreateAccessKey", "open-id" -> "OpenID", "client-id" -> "ClientID".
std::string Pascal(std::string_view kebab) {
  std::string text;
  bool capital = true;
  for (const char c : kebab) {
    if (c == '-') {
      capital = true;
      continue;
    }
    text += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    capital = false;
  }
  for (const std::string_view word : {"OpenId", "ClientId"}) {
    const size_t at = text.find(word);
    if (at != std::string::npos) text[at + word.size() - 1] = 'D';
  }
  return text;
}

Result<std::string> ValueOf(const std::string& word) {
  constexpr std::string_view kFile = "file://";
  if (!word.starts_with(kFile)) return word;
  const std::string path = word.substr(kFile.size());
  std::ifstream file(path, std::ios::binary);
  if (!file) return ValidationError(fmt::format("cannot read {}", path));
  std::string text(iam::Form::kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > iam::Form::kMaxBytes)
    return ValidationError(fmt::format("{} is longer than 1 MB", path));
  return text;
}

void Append(std::string_view name, std::string_view value, std::string* form) {
  form->push_back('&');
  access::AppendUriEncoded(name, false, form);
  form->push_back('=');
  access::AppendUriEncoded(value, false, form);
}

// Appends an element of a list: a text, or "Key=a,Value=b".
Status AppendElement(const std::string& name, size_t number, const std::string& word,
                     std::string* form) {
  const std::string prefix = fmt::format("{}.member.{}", name, number);
  if (name != "Tags" && name != "ContextEntries" && name != "PolicyArns") {
    ASSIGN_OR_RETURN(const std::string value, ValueOf(word));
    Append(prefix, value, form);
    return OkStatus();
  }
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = std::min(word.find(',', begin), word.size());
    const std::string part = word.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos)
      return ValidationError(fmt::format("\"{}\" is not like Key=a,Value=b", word));
    const std::string field = part.substr(0, equals), value = part.substr(equals + 1);
    // The values of an entry are a list of their own.
    const bool values = field == "ContextKeyValues";
    Append(fmt::format("{}.{}{}", prefix, field, values ? ".member.1" : ""), value, form);
  }
  return OkStatus();
}

struct Option {
  std::string name;  // behind "--"
  std::vector<std::string> values;
};

Result<std::vector<Option>> OptionsOf(const std::vector<std::string>& words, size_t first = 1) {
  std::vector<Option> options;
  for (size_t i = first; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("--")) {
      const size_t equals = word.find('=');
      options.push_back({word.substr(2, equals == std::string::npos ? equals : equals - 2), {}});
      if (equals != std::string::npos) options.back().values.push_back(word.substr(equals + 1));
    } else if (options.empty()) {
      return ValidationError(fmt::format("\"{}\" is no option", word));
    } else {
      options.back().values.push_back(word);
    }
  }
  return options;
}

// The reader of the XML that iam/xml.h writes: elements and text, without attributes but in the
// first element.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {}

  // Writes the elements until the end of the text.
  std::string Write(int indent) {
    std::string out;
    WriteContent("", indent, &out);
    return out;
  }

 private:
  struct Element {
    std::string_view name;
    std::string_view inside;
  };

  // Takes the next element; false at the end.
  bool Next(Element* element) {
    const size_t open = text_.find('<', at_);
    if (open == std::string_view::npos) return false;
    const size_t close = text_.find('>', open);
    if (close == std::string_view::npos) return false;
    element->name = text_.substr(open + 1, close - open - 1);
    // Elements may nest in others of their name: "member".
    const std::string begin = fmt::format("<{}>", element->name);
    const std::string end = fmt::format("</{}>", element->name);
    size_t depth = 1, at = close + 1;
    while (true) {
      const size_t next_end = text_.find(end, at);
      if (next_end == std::string_view::npos) return false;
      const size_t next_begin = text_.find(begin, at);
      if (next_begin < next_end) {
        ++depth;
        at = next_begin + begin.size();
        continue;
      }
      at = next_end + end.size();
      if (--depth == 0) {
        element->inside = text_.substr(close + 1, next_end - close - 1);
        at_ = at;
        return true;
      }
    }
  }

  static std::string Unescaped(std::string_view text) {
    std::string out;
    constexpr std::pair<std::string_view, char> kEscapes[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}};
    while (!text.empty()) {
      const auto* const found =
          std::find_if(std::begin(kEscapes), std::end(kEscapes),
                       [text](const auto& escape) { return text.starts_with(escape.first); });
      if (found != std::end(kEscapes)) {
        out += found->second;
        text.remove_prefix(found->first.size());
      } else {
        out += text.front();
        text.remove_prefix(1);
      }
    }
    return out;
  }
  static std::string Quoted(std::string_view text) {
    std::string quoted = JsonWriter().Text(text).Take();
    quoted.pop_back();
    return quoted;
  }

  void WriteContent(std::string_view name, int indent, std::string* out) {
    const std::string pad(static_cast<size_t>(indent) + 4, ' ');
    Element element;
    const bool any = Next(&element);
    if (!any && IsIn(kReplyLists, name)) {
      *out += "[]";
      return;
    }
    if (!any) {
      const bool document = name.ends_with("Document");
      const std::string text = Unescaped(text_);
      if (text == "true" || text == "false") {
        *out += text;
      } else {
        *out += Quoted(document ? PercentDecode(text, PlusSign::kPlus) : text);
      }
      return;
    }
    const bool list = element.name == "member";
    *out += list ? "[" : "{";
    bool more = true, first = true;
    while (more) {
      *out += first ? "\n" : ",\n";
      first = false;
      *out += pad;
      if (!list) *out += fmt::format("\"{}\": ", element.name);
      XmlReader(element.inside).WriteContent(element.name, indent + 4, out);
      more = Next(&element);
    }
    *out += "\n" + std::string(static_cast<size_t>(indent), ' ');
    *out += list ? "]" : "}";
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::string> FormOfWords(const std::vector<std::string>& words) {
  if (words.empty()) return ValidationError("no call is named");
  std::string form = "Version=2010-05-08";
  // `account create` names two words, `create-user` one.
  const bool of_account = words.front() == "account";
  if (of_account && words.size() < 2)
    return ValidationError("account is followed by create, list or delete");
  Append("Action",
         of_account ? Pascal(words[1]) + (words[1] == "list" ? "Accounts" : "Account")
                    : Pascal(words.front()),
         &form);
  ASSIGN_OR_RETURN(const std::vector<Option> options, OptionsOf(words, of_account ? 2 : 1));
  for (const Option& option : options) {
    const std::string name = Pascal(option.name);
    if (IsIn(kFlags, name)) {
      Append(name, "true", &form);
    } else if (IsIn(kLists, name)) {
      for (size_t i = 0; i < option.values.size(); ++i)
        TRY(AppendElement(name, i + 1, option.values[i], &form));
    } else if (option.values.size() != 1) {
      return ValidationError(fmt::format("--{} takes one value", option.name));
    } else {
      ASSIGN_OR_RETURN(const std::string value, ValueOf(option.values.front()));
      Append(name, value, &form);
    }
  }
  return form;
}

Result<guard::Question> QuestionOfWords(const std::vector<std::string>& words) {
  guard::Question question;
  ASSIGN_OR_RETURN(const std::vector<Option> options, OptionsOf(words));
  for (const Option& option : options) {
    std::string* const text = option.name == "principal"  ? &question.principal
                              : option.name == "action"   ? &question.action
                              : option.name == "resource" ? &question.resource
                                                          : nullptr;
    if (text != nullptr) {
      if (option.values.size() != 1)
        return ValidationError(fmt::format("--{} takes one value", option.name));
      *text = option.values.front();
      continue;
    }
    if (option.name != "context")
      return ValidationError(
          fmt::format("there is no option --{}: --principal, --action, --resource and --context "
                      "KEY=VALUE are",
                      option.name));
    // "--context=K=V" ends its name at the first sign, as all options do.
    for (const std::string& word : option.values) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos)
        return ValidationError(fmt::format("\"{}\" is not KEY=VALUE", word));
      const std::string key = word.substr(0, equals);
      auto entry = std::find_if(question.context.begin(), question.context.end(),
                                [&](const auto& each) { return each.key == key; });
      if (entry == question.context.end())
        entry = question.context.insert(entry, guard::Question::Entry{key, {}});
      entry->values.push_back(word.substr(equals + 1));
    }
  }
  if (question.principal.empty() || question.action.empty())
    return ValidationError("--principal and --action are needed");
  return question;
}

std::string JsonOfReply(std::string_view xml) {
  // <CreateUserResponse ...><CreateUserResult>...</CreateUserResult>...
  const size_t response = xml.find('>');
  if (response == std::string_view::npos) return {};
  const std::string_view rest = xml.substr(response + 1);
  const size_t end = rest.find("Result>");
  if (end == std::string_view::npos || !rest.starts_with("<")) return {};
  const std::string close = fmt::format("</{}Result>", rest.substr(1, end - 1));
  const size_t closed = rest.rfind(close);
  if (closed == std::string_view::npos) return {};
  const size_t begin = end + std::string_view("Result>").size();
  return XmlReader(rest.substr(begin, closed - begin)).Write(0);
}

}  // namespace stator::server
