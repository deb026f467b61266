// `stator iam`: the calls of IAM on a store without a server, and `stator iam why`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "guard/why.h"
#include "server/settings.h"

namespace CLI {
class App;
}

namespace stator::server {

struct IamCommand {
  ServeSettings store;             // where it is, and what seals it
  std::string endpoint_url;        // of why: a server to ask
  std::vector<std::string> words;  // the call and its options; at least one
};

// The options of `stator iam`. *call gets the first word; the others stay with the command.
void AddIamOptions(CLI::App* app, IamCommand* command, std::string* call);
// Completes the command from what was given together. Returns what is wrong, if anything.
std::optional<std::string> SettleIam(const CLI::App& iam, const std::string& call,
                                     IamCommand* command);

// Returns the form of a call that is written as the AWS CLI writes it: "create-user",
// "--user-name", "alice" makes "Action=CreateUser&UserName=alice". A value "file://PATH" is the
// file's text; lists are several words, their structures "Key=a,Value=b". kValidation for other
// words.
Result<std::string> FormOfWords(const std::vector<std::string>& words);

// Returns the question of "--principal", "P", "--action", "A", "--resource", "R", "--context",
// "K=V". A key that occurs again has one more value. kValidation for other words.
Result<guard::Question> QuestionOfWords(const std::vector<std::string>& words);

// Returns the inside of the Result element of a reply of IAM as indented JSON, as the AWS CLI shows
// it; empty if the reply has none.
std::string JsonOfReply(std::string_view xml);

// Performs the call that the command's first word names and prints its result. Returns the exit
// code: 0, 1 for a store that cannot be used or a denial that was asked about, 252 for words that
// are none of the call's, 254 for a call that IAM refuses.
int Execute(const IamCommand& command);

}  // namespace stator::server
