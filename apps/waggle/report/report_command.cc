#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include <waggle/base/error.h>
#include <waggle/detail/atomic_file.h>
#include <waggle/detail/json.h>
#include <waggle/detail/require.h>
#include <waggle/detail/text.h>
#include <waggle/version.h>

#include "commands.h"
#include "data_files.h"
#include "option_flags.h"
#include "pages.h"
#include "reading.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kPlaceholder = "WAGGLE_DOCUMENT";
constexpr std::uintmax_t kMostBytes = 64 << 20;  // of a results.json; real ones have a hundred kB

struct ReportCommand {
  std::filesystem::path directory;
  std::filesystem::path out = "report.html";

  void run() const;
};

/// All files in a directory and below that may be read, in the order of their paths.
std::vector<std::filesystem::path> find_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code failed;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (auto it = std::filesystem::recursive_directory_iterator(directory, options, failed);
       !failed && it != std::filesystem::recursive_directory_iterator(); it.increment(failed)) {
    const auto& path = it->path();
    if (path.extension() == ".csv" || path.filename() == "results.json") found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::array<int, 3> version_of(const std::string& text) {
  std::array<int, 3> parts{};
  std::istringstream stream(text);
  char dot = 0;
  stream >> parts[0] >> dot >> parts[1] >> dot >> parts[2];
  return parts;
}

/// The files of `reproduce` and `compare`. Throws, also JSON's exceptions, unless every experiment
/// has what a section must have.
void add_experiments(ShownResults& results, const std::filesystem::path& folder) {
  for (const ordered_json& experiment : results.content.at("experiments")) {
    require(!text_in(experiment, "title").empty(),
            "its results have no titles, as an older waggle wrote them; run its command again");
    const ordered_json& metrics = experiment.at("metrics");
    const std::string name = text_in(member_of(experiment, "main_metric"), "name");
    if (!name.empty()) metrics.at(name);
    add_files(results, member_of(experiment, "figures"), folder);
  }
}

ShownResults read_results(const std::filesystem::path& path) {
  require(std::filesystem::file_size(path) <= kMostBytes, "it is larger than 64 MiB");
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  require(!file.fail(), "it cannot be read");
  parse_json(text.str(), "its content", 12);  // refuses what is hostile
  ShownResults results;
  results.content = ordered_json::parse(text.str());  // keeps the keys in order
  const ordered_json& content = results.content;
  require(content.is_object(), "it is no JSON object");
  const std::string version = text_in(content, "version");
  require(version_of(version) <= version_of(WAGGLE_VERSION),
          "it was written by waggle {}, which is newer than this one ({}): update waggle to see it",
          printable(version), WAGGLE_VERSION);
  const std::filesystem::path folder = path.parent_path();
  const std::string kind = text_in(content, "kind");
  const ordered_json& figures = member_of(content, "figures");
  if (kind == "experiments") {
    add_experiments(results, folder);
  } else if (kind == "evaluation") {
    const std::string reward = text_in(content, "reward");
    add_running_means(results, figures, folder, reward.empty() ? "reward" : reward);
  } else if (kind == "learn" || kind == "log-evaluation" || kind == "forecast") {
    add_files(results, figures, folder);
  } else {
    throw Error(kind.empty()
                    ? "it does not say what kind of results it holds"
                    : fmt::format("it holds results of an unknown kind, {}", in_quotes(kind)));
  }
  return results;
}

/// JSON inside a <script> element: nothing in it may look like the element's end.
std::string embeddable(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

/// All that the files hold. What cannot be shown is a problem of the document's.
Document read_all(const std::filesystem::path& directory,
                  const std::vector<std::filesystem::path>& paths) {
  Document document;
  for (const auto& path : paths) {
    const std::filesystem::path name = path.lexically_relative(directory);
    const auto refuse = [&](const std::string& why) {
      document.problems.push_back(fmt::format("{}: {}", printable(name.string()), why));
    };
    try {
      document.results.push_back(read_results(path));
      document.results.back().folder = printable(name.parent_path().string());
    } catch (const Error& error) {
      refuse(error.what());
    } catch (const ordered_json::exception&) {
      refuse("it is not as waggle writes it; run its command again");
    } catch (const std::filesystem::filesystem_error&) {
      refuse("it cannot be read");
    }
  }
  return document;
}

/// "2 results with 5 files of data (1 missing, with the reason in its place)".
std::string summary(const Document& document) {
  std::size_t files = 0, missing = 0;
  for (const ShownResults& results : document.results) {
    for (const auto& [path, file] : results.files) ++(file.missing.empty() ? files : missing);
  }
  std::string text =
      fmt::format("{} with {} of data", counted(std::ssize(document.results), "result"),
                  counted(files, "file"));
  if (missing == 0) return text;
  return text + fmt::format(" ({} missing, with the reason in {} place)", missing,
                            missing == 1 ? "its" : "their");
}

void ReportCommand::run() const {
  const std::string_view page = report_page();
  std::error_code none;  // what cannot be looked at is refused where it is read or written
  require(std::filesystem::is_directory(directory, none), "'{}' is no directory",
          directory.string());
  require(!out.empty() && !std::filesystem::is_directory(out, none), "--out '{}': must name a file",
          out.string());
  std::vector<std::filesystem::path> paths = find_files(directory);
  require_output(out, paths);
  if (!out.has_parent_path()) require_writable_directory(std::filesystem::current_path());
  std::erase_if(paths, [](const auto& path) { return path.filename() != "results.json"; });
  require(!paths.empty(),
          "'{}' has no results.json in it or below; write one, for example with `waggle-paper "
          "reproduce "
          "bee-world --out {}`",
          directory.string(), directory.string());

  const Document document = read_all(directory, paths);
  for (const std::string& problem : document.problems) fmt::print(stderr, "waggle: {}\n", problem);
  require(!document.results.empty(), "nothing in '{}' can be shown", directory.string());

  const std::size_t at = page.find(kPlaceholder);
  require(at != std::string_view::npos, "this waggle was built with a page that is not its own");
  std::string html(page.substr(0, at));
  html += embeddable(to_json(document));
  html += page.substr(at + kPlaceholder.size());
  write_file(out, html);
  print(fmt::format("{}: {}, {:.1f} MB\n", out.string(), summary(document),
                    static_cast<double>(html.size()) / 1e6));
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "report", "A page of results to look at: figures, tables, and how to repeat them");
  auto options = std::make_shared<ReportCommand>();
  command
      ->add_option(
          "directory", options->directory,
          "what --out or --results of other commands wrote; all results below it are shown")
      ->required();
  command->add_option("-o,--out", options->out, "the HTML file to write, with everything inside")
      ->capture_default_str();
  command->footer(
      "Example:\n  waggle-paper reproduce bee-world --out out\n  waggle report out -o report.html");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
