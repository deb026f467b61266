// Signed calls of IAM and STS, and their answers, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/sigv4.h"

namespace stator::iam {

struct KeyOf {
  std::string id;
  std::string secret;
  std::string token = {};
};

// A form of IAM or STS, with its version and signed in us-east-1.
class SignedForm {
 public:
  SignedForm(const KeyOf& key, const std::string& form, bool sts, int64_t now_micros)
      : body_(form + (sts ? "&Version=2011-06-15" : "&Version=2010-05-08")) {
    access::SigningOptions options;
    options.region = "us-east-1";
    options.service = sts ? "sts" : "iam";
    options.now_micros = now_micros;
    access::SignRequest({key.id, key.secret, key.token}, options, "POST", "/", body_, &headers_);
    for (const access::OwnedHeader& header : headers_)
      lines_.push_back({header.name, header.value});
  }
  SignedForm(const SignedForm&) = delete;

  access::HttpRequestView http() const { return {"POST", "/", lines_, body_}; }

 private:
  std::string body_;
  std::vector<access::OwnedHeader> headers_ = {
      {"Host", "localhost"}, {"Content-Type", "application/x-www-form-urlencoded"}};
  std::vector<access::HeaderLine> lines_;
};

// Returns the text of the first element of this name; empty if there is none.
inline std::string Between(const std::string& text, const std::string& element) {
  const size_t begin = text.find("<" + element + ">");
  if (begin == std::string::npos) return "";
  const size_t start = begin + element.size() + 2;
  return text.substr(start, text.find("</" + element + ">", start) - start);
}

// Returns a policy document of these statements, encoded for a form.
inline std::string Document(const std::string& statements) {
  std::string out;
  access::AppendUriEncoded(R"({"Version":"2012-10-17","Statement":[)" + statements + "]}", false,
                           &out);
  return out;
}

}  // namespace stator::iam
