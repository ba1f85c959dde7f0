"""Searches the parameters of a classifier on the cluster: scikit-learn with the joblib backend of Goshawk."""

import goshawk.joblib  # noqa: F401  registers the backend
from joblib import parallel_backend
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

features, labels = load_iris(return_X_y=True)
search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}, cv=3)
with parallel_backend("goshawk", n_jobs=-1):
    search.fit(features, labels)
print("best:", search.best_params_, round(search.best_score_, 3))
