package dev.genv.enforcer.config.settings;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.doctree.DocTree;
import com.sun.source.doctree.LiteralTree;
import com.sun.source.doctree.TextTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.GeneratedSection;
import io.smallrye.config.ConfigMappingInterface.Property;
import io.smallrye.config.ConfigMappings.ConfigClass;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;

/** The reference page lists every setting with the Javadoc, the bounds and the default of the code. */
class SettingsPageTest {
    private static final Path PAGE = Path.of("src/site/markdown/settings.md");
    private static final Path APPLICATION = Path.of("src/main/resources/application.properties");

    @Test
    void listsEverySettingInTheOrderOfTheCode() throws IOException {
        var groups = new ArrayList<DocumentedGroup>();
        for (var group : SettingsReader.GROUPS) {
            groups.add(DocumentedGroup.of(group));
        }
        groups.add(1, DocumentedGroup.ofRules());
        var page = new StringBuilder();
        groups.forEach(group -> page.append("\n## ").append(group.toMarkdown()));
        GeneratedSection.assertSection(PAGE, "settings", page.append('\n').toString());
    }

    /** Quarkus reads these defaults from the file, not from the mapping. */
    @Test
    void namesTheDefaultsThatQuarkusUses() throws IOException {
        var application = new Properties();
        application.load(new StringReader(Files.readString(APPLICATION)));
        var checked = new ArrayList<String>();
        for (var group : SettingsReader.GROUPS) {
            group.getProperties().forEach((name, otherwise) -> {
                if (name.startsWith("quarkus.")) {
                    checked.add(name);
                    assertThat(application.getProperty(name)).as(name).isEqualTo(otherwise);
                }
            });
        }
        assertThat(checked).hasSize(5);
    }

    /** Two properties of one variable could not be told apart. */
    @Test
    void everySettingHasAVariableOfItsOwn() {
        var variables = new ArrayList<>(RuleSettings.variables());
        SettingsReader.GROUPS.forEach(group -> SettingsReader.properties(group).keySet().stream()
                .map(Variables::nameOf)
                .forEach(variables::add));
        assertThat(variables).hasSizeGreaterThan(40).doesNotHaveDuplicates();
    }

    /** The documentation of a group of settings: the Javadoc of its methods, in their order. */
    private record DocumentedGroup(String title, String description, List<Row> rows) {
        private static final Path SOURCES = Path.of("src/main/java");

        /**
         * A setting.
         *
         * @param values which are valid
         * @param otherwise the default; empty if there is none
         */
        record Row(String variable, String values, String otherwise, String meaning) {
            private String toMarkdown() {
                return "| `%s` | %s | %s | %s |\n"
                        .formatted(
                                variable, escape(values), otherwise.isEmpty() ? "–" : "`" + otherwise + "`", meaning);
            }
        }

        static DocumentedGroup of(ConfigClass group) throws IOException {
            var compiler = ToolProvider.getSystemJavaCompiler();
            try (var files = compiler.getStandardFileManager(null, null, null)) {
                var source =
                        SOURCES.resolve(group.getType().getNestHost().getName().replace('.', '/') + ".java");
                var task =
                        (JavacTask) compiler.getTask(null, files, null, null, null, files.getJavaFileObjects(source));
                var unit = task.parse().iterator().next();
                return read(group, DocTrees.instance(task), unit);
            }
        }

        /** The settings that the rules declare, in the order of their checks. */
        static DocumentedGroup ofRules() {
            var rows = Rules.definitions().stream()
                    .flatMap(rule -> rule.settings().stream()
                            .map(setting -> new Row(
                                    RuleSettings.variableOf(setting),
                                    RuleSettings.parserOf(setting.kind()).accepted(),
                                    setting.kind() == RuleSetting.Kind.MODE
                                            ? rule.defaultMode().name().toLowerCase(Locale.ROOT)
                                            : "",
                                    setting.meaning())))
                    .toList();
            return new DocumentedGroup("Rules", "What each rule does.", rows);
        }

        String toMarkdown() {
            return "%s\n\n%s\n\n| variable | values | default | meaning |\n| --- | --- | --- | --- |\n%s"
                    .formatted(
                            title,
                            description,
                            rows.stream().map(Row::toMarkdown).collect(joining()));
        }

        private static DocumentedGroup read(ConfigClass group, DocTrees trees, CompilationUnitTree unit) {
            Map<String, Map.Entry<String, Property>> properties = SettingsReader.properties(group).entrySet().stream()
                    .collect(toMap(entry -> entry.getValue().getMethod().getName(), entry -> entry));
            var outer = (ClassTree) unit.getTypeDecls().getFirst();
            var type = Stream.concat(Stream.of(outer), outer.getMembers().stream())
                    .filter(tree -> tree instanceof ClassTree one
                            && one.getSimpleName().contentEquals(group.getType().getSimpleName()))
                    .map(ClassTree.class::cast)
                    .findFirst()
                    .orElseThrow();
            var path = TreePath.getPath(unit, type);
            var rows = type.getMembers().stream()
                    .filter(MethodTree.class::isInstance)
                    .map(MethodTree.class::cast)
                    .map(method -> row(
                            requireNonNull(properties.get(method.getName().toString())),
                            text(trees, new TreePath(path, method))))
                    .toList();
            return new DocumentedGroup(title(type.getSimpleName().toString()), text(trees, path), rows);
        }

        private static Row row(Map.Entry<String, Property> entry, String meaning) {
            var property = entry.getValue();
            return new Row(
                    Variables.nameOf(entry.getKey()),
                    SettingsReader.parserOf(property).accepted(),
                    property.hasDefaultValue() ? property.getDefaultValue() : "",
                    meaning);
        }

        private static String title(String type) {
            return switch (type.replace("Settings", "")) {
                case "Gpu" -> "GPU";
                case "Http" -> "HTTP";
                case "Remote" -> "Remote (SSH)";
                case String other -> other;
            };
        }

        private static String text(DocTrees trees, TreePath path) {
            var comment = trees.getDocCommentTree(path);
            if (comment == null) {
                throw new IllegalStateException(path.getLeaf() + " has no comment");
            }
            return comment.getFullBody().stream()
                    .map(DocumentedGroup::markdown)
                    .collect(joining())
                    .replaceAll("\\s+", " ");
        }

        private static String markdown(DocTree part) {
            return switch (part) {
                case TextTree text -> escape(text.getBody());
                case LiteralTree literal -> "`" + literal.getBody().getBody() + "`";
                default ->
                    throw new IllegalStateException("a comment of a setting is text and {@code …} alone: " + part);
            };
        }

        private static String escape(String text) {
            return text.replaceAll("[|*_\\[\\]<>]", "\\\\$0");
        }
    }
}
