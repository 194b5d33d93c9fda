package dev.genv.enforcer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.browser.Pictures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Links, words and sentences of the documents. */
class DocumentsTest {
    private static final Path README = Path.of("README.md");
    private static final Path CHART = Path.of("helm/genv-enforcer/README.md");
    /** A file, and the form that a process has there; none if it has no form of its own. */
    private static final Pattern STEP_OF_WALK =
            Pattern.compile("(?m)^\\| `(\\S+\\.java)` \\|[^|]*\\| (?:`(\\w+)` )?\\|$");

    private static final int MOST_FILES_OF_WALK = 14;
    private static final int MOST_FORMS_OF_WALK = 8;
    private static final Path ARCHITECTURE = Path.of("src/site/markdown/architecture.md");
    private static final Path MAIN = Path.of("src/main/java/dev/genv/enforcer");
    private static final Pattern PACKAGE_ROW = Pattern.compile("(?m)^\\| `([a-z.]+)` \\|");
    private static final Pattern FILE_NAME = Pattern.compile("`([\\w./-]+\\.(?:java|js|json|md|tpl|ya?ml))`");
    private static final int MOST_LINES_OF_THE_README = 135;
    private static final int MOST_WORDS_OF_A_SENTENCE = 40;

    private static final Pattern CODE_BLOCK = Pattern.compile("(?ms)^ *```.*?^ *```$");
    private static final Pattern CODE = Pattern.compile("`[^`\n]*`");
    private static final Pattern COMMENT = Pattern.compile("(?s)<!--.*?-->");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.*)$");
    private static final Pattern LINK = Pattern.compile("\\[[^]\\[]*]\\(([^)\\s]+)\\)");
    private static final Pattern OTHER_SITE = Pattern.compile("[a-z]+:.*");
    /** An empty line, a line of a list or a table, or a heading ends a sentence too. */
    private static final Pattern PARAGRAPH_END = Pattern.compile("\\n\\s*\\n|\\n(?= *([-*#|]|\\d+\\.) *)|\\|");

    private static final Pattern SENTENCE_END = Pattern.compile("(?<=[.:;?!])[)\"*]*\\s+");
    private static final Pattern SPACES = Pattern.compile("\\s+");

    /** Words that the documents do not use: figures of speech, pronouns in place of the actor, and former names. */
    private static final List<Pattern> AVOIDED = Stream.of(
                    "make-believe|mallory|testimony|deeds?|behold|books|veto|brakes?",
                    "tells?|told|telling|hears?|heard",
                    "(a|an|the|every|each|one|last|first|second|next|complete) looks?",
                    "spared|(is|are|was|were|be|been|being) ended",
                    "he|him|his|she|hers?|somebody|someone|everybody|whoever|whomever",
                    "missing_rights?|last_look|look_ms|brake_reached|host_unknown|user_unknown|user_unknown_here",
                    "genv_enforcer_detached_grace|genv_enforcer_host_look_seconds|genv_enforcer_missing_right")
            .map(words -> Pattern.compile("\\b(%s)\\b".formatted(words), Pattern.CASE_INSENSITIVE))
            .toList();

    private static final Map<Path, String> DOCUMENTS = new HashMap<>();

    @BeforeAll
    static void readAll() throws IOException {
        var files = new ArrayList<>(List.of(README, CHART));
        for (var folder : List.of("src/site/markdown", ".github")) {
            try (var pages = Files.newDirectoryStream(Path.of(folder), "*.md")) {
                pages.forEach(files::add);
            }
        }
        for (var file : files) {
            DOCUMENTS.put(file, Files.readString(file));
        }
        assertThat(files).hasSizeGreaterThan(12);
    }

    @Test
    void theReadmeIsShort() throws IOException {
        assertThat(Files.readAllLines(README)).hasSizeLessThanOrEqualTo(MOST_LINES_OF_THE_README);
    }

    @Test
    void everyRelativeLinkLeadsToAFileAndAHeading() throws IOException {
        var broken = new TreeSet<String>();
        for (var document : DOCUMENTS.entrySet()) {
            for (var link :
                    LINK.matcher(withoutCode(document.getValue())).results().toList()) {
                var target = link.group(1);
                if (!OTHER_SITE.matcher(target).matches() && !exists(document.getKey(), target)) {
                    broken.add("%s: %s".formatted(document.getKey(), target));
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    @Test
    void noDocumentUsesAnAvoidedWord() {
        var found = new TreeSet<String>();
        DOCUMENTS.forEach((file, text) -> AVOIDED.forEach(words -> words.matcher(text)
                .results()
                .forEach(word -> found.add("%s:%d: %s".formatted(file, lineOf(text, word.start()), word.group())))));
        assertThat(found).isEmpty();
    }

    @Test
    void noSentenceIsLong() {
        var found = new TreeSet<String>();
        DOCUMENTS.forEach((file, text) -> sentences(text)
                .filter(sentence -> SPACES.split(sentence).length > MOST_WORDS_OF_A_SENTENCE)
                .forEach(sentence -> found.add("%s: %s".formatted(file, sentence))));
        assertThat(found).isEmpty();
    }

    @Test
    void theArchitecturePageListsEachPackageOnce() throws IOException {
        var listed = PACKAGE_ROW
                .matcher(architecture("## Packages"))
                .results()
                .map(row -> row.group(1))
                .toList();
        try (var files = Files.walk(MAIN)) {
            var packages = files.filter(file -> file.toString().endsWith(".java"))
                    .map(file -> MAIN.relativize(file.getParent()).toString().replace('/', '.'))
                    .collect(Collectors.toSet());
            assertThat(listed).containsExactlyInAnyOrderElementsOf(packages);
        }
    }

    @Test
    void theWalkOfAProcessIsThatOfTheCode() throws IOException {
        var rows = STEP_OF_WALK
                .matcher(architecture("## The walk of a process"))
                .results()
                .toList();
        assertThat(rows).hasSizeBetween(10, MOST_FILES_OF_WALK);
        var forms = new ArrayList<String>();
        for (var row : rows) {
            var code = Files.readString(MAIN.resolve(row.group(1)));
            var form = row.group(2);
            assertThat(code).as(row.group(1)).containsIgnoringCase(form == null ? "ProcessId" : form);
            if (form != null && !forms.contains(form)) {
                assertThat(code).as(row.group(1)).containsIgnoringCase(forms.isEmpty() ? form : forms.getLast());
                forms.add(form);
            }
        }
        assertThat(forms).hasSizeLessThanOrEqualTo(MOST_FORMS_OF_WALK);
    }

    @Test
    void everyFileOfARecipeExists() throws IOException {
        var named = FILE_NAME
                .matcher(architecture("## Where to add it"))
                .results()
                .map(name -> name.group(1).replaceFirst("^helm/", "helm/genv-enforcer/"))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(named).hasSizeGreaterThan(20);
        for (var root : List.of("src", "helm", ".github", "README.md")) {
            try (var files = Files.walk(Path.of(root))) {
                files.forEach(file -> named.removeIf(file::endsWith));
            }
        }
        assertThat(named).isEmpty();
    }

    private static String architecture(String heading) {
        var text = DOCUMENTS.getOrDefault(ARCHITECTURE, "");
        return text.substring(text.indexOf(heading)).split("\n## ", 2)[0];
    }

    private static boolean exists(Path document, String target) throws IOException {
        var parts = target.split("#", 2);
        var file = parts[0].isEmpty()
                ? document
                : document.resolveSibling(parts[0]).normalize();
        if (!Files.exists(file)) {
            return false;
        }
        return parts.length == 1 || anchors(Files.readString(file)).contains(parts[1]);
    }

    /** The anchors that GitHub gives to headings; a repeated heading gets a number. */
    private static Set<String> anchors(String text) {
        var anchors = new TreeSet<String>();
        for (var heading : HEADING.matcher(withoutBlocks(text)).results().toList()) {
            var name = LINK.matcher(heading.group(1))
                    .replaceAll("")
                    .strip()
                    .toLowerCase(Locale.ROOT)
                    .replaceAll("[^\\p{L}\\p{N} _-]", "")
                    .replace(' ', '-');
            var anchor = name;
            for (var repeated = 1; !anchors.add(anchor); repeated++) {
                anchor = name + "-" + repeated;
            }
        }
        return anchors;
    }

    private static Stream<String> sentences(String text) {
        var prose = COMMENT.matcher(withoutBlocks(text)).replaceAll("");
        return PARAGRAPH_END
                .splitAsStream(CODE.matcher(prose).replaceAll("code"))
                .flatMap(SENTENCE_END::splitAsStream)
                .map(String::strip);
    }

    private static String withoutCode(String text) {
        return CODE.matcher(withoutBlocks(text)).replaceAll("");
    }

    private static String withoutBlocks(String text) {
        return CODE_BLOCK.matcher(text).replaceAll("");
    }

    private static long lineOf(String text, int position) {
        return text.substring(0, position).lines().count();
    }

    /** A picture shows the page as it is: {@code QuestionsIT} takes them anew with {@code -Dpictures.write=true}. */
    @Test
    void picturesAreThoseOfThePresentPage() throws IOException {
        assertThat(Pictures.recordedDigest())
                .as("the page changed: see Generated text in CONTRIBUTING.md")
                .isEqualTo(Pictures.digestOfPage());
        try (var files = Files.list(Pictures.FOLDER)) {
            assertThat(files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".png")))
                    .containsExactlyInAnyOrderElementsOf(
                            Pictures.NAMES.stream().map(name -> name + ".png").toList());
        }
    }
}
