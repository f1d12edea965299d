#include "report_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include <waggle/error.h>
#include <waggle/version.h>

#include "core/check.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "option_flags.h"
#include "pages.h"
#include "sections.h"

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

void add_results(Document& document, const std::filesystem::path& path) {
  require(std::filesystem::file_size(path) <= kMostBytes, "it is larger than 64 MiB");
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  require(!file.fail(), "it cannot be read");
  parse_json(text.str(), "its content", 12);                     // refuses what is hostile
  const ordered_json results = ordered_json::parse(text.str());  // keeps the keys in order
  require(results.is_object(), "it is no JSON object");
  const std::string version = text_in(results, "version");
  require(version_of(version) <= version_of(WAGGLE_VERSION),
          "it was written by waggle {}, which is newer than this one ({}): update waggle to see it",
          printable(version), WAGGLE_VERSION);
  const std::filesystem::path folder = path.parent_path();
  const std::string kind = text_in(results, "kind");
  if (kind == "experiments") return add_experiments(document, results, folder);
  if (kind == "learn") return add_learning(document, results, folder);
  if (kind == "evaluation") return add_evaluation(document, results, folder);
  if (kind == "log-evaluation") return add_log_evaluation(document, results, folder);
  if (kind == "forecast") return add_forecast(document, results, folder);
  throw Error(kind.empty()
                  ? "it does not say what kind of results it holds"
                  : fmt::format("it holds results of an unknown kind, {}", in_quotes(kind)));
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
Document read_results(const std::filesystem::path& directory,
                      const std::vector<std::filesystem::path>& paths) {
  Document document;
  document.title = "waggle report";
  for (const auto& path : paths) {
    const std::filesystem::path name = path.lexically_relative(directory);
    const std::size_t before = document.sections.size();
    const auto refuse = [&](const std::string& why) {
      document.sections.resize(before);
      document.problems.push_back(fmt::format("{}: {}", printable(name.string()), why));
    };
    try {
      add_results(document, path);
    } catch (const Error& error) {
      refuse(error.what());
    } catch (const ordered_json::exception&) {
      refuse("it is not as waggle writes it; run its command again");
    } catch (const std::filesystem::filesystem_error&) {
      refuse("it cannot be read");
    }
    for (std::size_t i = before; i < document.sections.size(); ++i) {
      document.sections[i].folder = printable(name.parent_path().string());
    }
  }
  return document;
}

/// "2 sections, 5 figures (1 missing, with the reason in its place)".
std::string summary(const Document& document) {
  std::size_t figures = 0, missing = 0;
  for (const Section& section : document.sections) {
    for (const ReportFigure& figure : section.figures) {
      ++(figure.charts.empty() ? missing : figures);
    }
  }
  std::string text = fmt::format("{}, {}", counted(document.sections.size(), "section"),
                                 counted(figures, "figure"));
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
          "'{}' has no results.json in it or below; write one, for example with `waggle reproduce "
          "bee-world --out {}`",
          directory.string(), directory.string());

  const Document document = read_results(directory, paths);
  for (const std::string& problem : document.problems) fmt::print(stderr, "waggle: {}\n", problem);
  require(!document.sections.empty(), "nothing in '{}' can be shown", directory.string());

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
      "Example:\n  waggle reproduce bee-world --out out\n  waggle report out -o report.html");
  command->callback([options] { options->run(); });
}

}  // namespace waggle::app
